import { randomBytes } from 'node:crypto';
import type { Tokens } from '../domain/ports.ts';

/** 96 random bits as 16 URL-safe characters: four of them are in a job item, which has to stay under 1 KB. */
export const systemTokens: Tokens = { next: () => randomBytes(12).toString('base64url') };

/** 192 random bits: what opens something must not be found by trying. */
export const secretTokens: Tokens = { next: () => randomBytes(24).toString('base64url') };
