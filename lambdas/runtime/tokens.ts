import { randomBytes } from 'node:crypto';
import type { Tokens } from '../domain/ports.ts';

/** 128 random bits as 22 URL-safe characters. */
export const systemTokens: Tokens = { next: () => randomBytes(16).toString('base64url') };
