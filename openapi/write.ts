import { writeFile } from 'node:fs/promises';
import { openApiDocument } from './document.ts';

/** Writes docs/openapi.json, which the API itself serves. */
await writeFile(new URL('../docs/openapi.json', import.meta.url), `${JSON.stringify(openApiDocument(), null, 2)}\n`);
