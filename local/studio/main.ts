import { readSettings } from './settings.ts';
import { startStudio } from './studio.ts';

const studio = await startStudio(readSettings(process.env));
console.log(`studio ready ${studio.url}`);

let closing: Promise<void> | undefined;
for (const signal of ['SIGTERM', 'SIGINT'] as const) {
  process.on(signal, () => {
    closing ??= studio.close();
  });
}
