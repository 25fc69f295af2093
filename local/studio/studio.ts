import { openDatabase } from './database.ts';
import { FaultBoard } from './fault-board.ts';
import { serveControl } from './control-routes.ts';
import { JobFeed } from './job-feed.ts';
import { Ledger } from './ledger.ts';
import { PictureFolder } from './picture-folder.ts';
import type { RunnerParts } from './runner.ts';
import { Runner } from './runner.ts';
import type { Serve } from './server.ts';
import { close, listen, makeServer } from './server.ts';
import type { StudioSettings } from './settings.ts';
import type { StudioParts } from './studio-parts.ts';
import { stylize } from './stylize.ts';
import { Upscaler } from './upscale.ts';
import { serveVendor } from './vendor-routes.ts';
import { WebhookSender } from './webhook-sender.ts';

export interface Studio {
  readonly url: string;
  /** Stops without ending any job: the next start on this folder goes on with them. */
  close(): Promise<void>;
}

/** Starts the vendor on its folder, and takes up what it left unfinished there. */
export async function startStudio(settings: StudioSettings): Promise<Studio> {
  const database = openDatabase(settings.dataDir);
  // Requests wait for the parts, which need the port that only listening gives.
  const ready = Promise.withResolvers<StudioParts>();
  const server = makeServer(async (exchange, pathname) => routes(await ready.promise)(exchange, pathname));
  const port = await listen(server, settings.host, settings.port);
  const baseUrl = `http://${settings.host}:${port}`;

  const ledger = new Ledger(database);
  const pictures = new PictureFolder(settings.dataDir);
  const faults = new FaultBoard();
  const feed = new JobFeed();
  const upscaler = new Upscaler();
  const webhooks = new WebhookSender(database, faults, {
    secret: settings.webhookSecret,
    pausesMs: settings.webhookPausesMs,
    baseUrl,
  });
  const { concurrency } = settings;
  const runner = new Runner({
    database,
    ledger,
    pictures,
    faults,
    feed,
    webhooks,
    concurrency,
    work: workWith(upscaler),
  });
  webhooks.resume();
  runner.resume();
  ready.resolve({
    customer: { apiKeys: [settings.apiKey] },
    baseUrl,
    ledger,
    pictures,
    faults,
    feed,
    runner,
    webhooks,
  });

  return {
    url: baseUrl,
    async close() {
      await close(server);
      // A fault that still waits would keep the process alive for as long.
      faults.clear();
      await runner.halt();
      await webhooks.halt();
      await upscaler.close();
      database.close();
    },
  };
}

function routes(studio: StudioParts): Serve {
  return (exchange, pathname) =>
    pathname.startsWith('/control/')
      ? serveControl(studio, exchange, pathname)
      : serveVendor(studio, exchange, pathname);
}

function workWith(upscaler: Upscaler): RunnerParts['work'] {
  return async ({ order }, input, watch) => {
    switch (order.feature) {
      case 'upscale':
        return upscaler.upscale(input, watch);
      case 'stylize':
        return stylize(input, order.params);
    }
  };
}
