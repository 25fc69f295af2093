import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

const schema = `
  CREATE TABLE IF NOT EXISTS jobs (
    sequence INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    key TEXT,
    dedupes INTEGER NOT NULL,
    job_order TEXT NOT NULL,
    callback_url TEXT,
    status TEXT NOT NULL,
    percent REAL NOT NULL,
    stage TEXT NOT NULL,
    accepted_at INTEGER NOT NULL,
    started_at INTEGER,
    finished_at INTEGER,
    cancel_requested_at INTEGER,
    result TEXT,
    error TEXT
  );
  CREATE UNIQUE INDEX IF NOT EXISTS one_job_per_key ON jobs (key) WHERE dedupes = 1 AND key IS NOT NULL;
  CREATE INDEX IF NOT EXISTS unfinished_jobs ON jobs (sequence) WHERE finished_at IS NULL;
  CREATE TABLE IF NOT EXISTS counters (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    posts INTEGER NOT NULL,
    max_in_flight INTEGER NOT NULL
  );
  INSERT OR IGNORE INTO counters VALUES (1, 0, 0);
  CREATE TABLE IF NOT EXISTS owed_webhooks (
    id TEXT PRIMARY KEY,
    job_id TEXT NOT NULL,
    feature TEXT NOT NULL,
    url TEXT NOT NULL,
    body TEXT NOT NULL,
    moment TEXT NOT NULL
  );
`;

/**
 * Opens the studio's database; what a statement wrote survives `kill -9` and power loss from the moment it returns.
 * The exclusive lock keeps a second studio off the same folder, where both would finish the same jobs; the kernel
 * drops it with the process, so a crashed studio locks nobody out.
 */
export function openDatabase(dataDir: string): DatabaseSync {
  mkdirSync(dataDir, { recursive: true });
  const database = new DatabaseSync(join(dataDir, 'studio.sqlite'));
  database.exec('PRAGMA locking_mode = EXCLUSIVE; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;');
  database.exec(schema);
  return database;
}

/** Runs statements that belong together: all of them are durable, or none. */
export function inTransaction<Value>(database: DatabaseSync, work: () => Value): Value {
  database.exec('BEGIN IMMEDIATE');
  try {
    const value = work();
    database.exec('COMMIT');
    return value;
  } catch (error) {
    database.exec('ROLLBACK');
    throw error;
  }
}
