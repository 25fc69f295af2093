import type { FaultBoard } from './fault-board.ts';
import type { JobFeed } from './job-feed.ts';
import type { Ledger } from './ledger.ts';
import type { PictureFolder } from './picture-folder.ts';
import type { Runner } from './runner.ts';
import type { WebhookSender } from './webhook-sender.ts';

/** The one account that there is. */
export interface Customer {
  /** Each opens the API: two of them while a key is rotated. */
  apiKeys: readonly string[];
}

/** What the routes work on. */
export interface StudioParts {
  readonly customer: Customer;
  readonly baseUrl: string;
  readonly ledger: Ledger;
  readonly pictures: PictureFolder;
  readonly faults: FaultBoard;
  readonly feed: JobFeed;
  readonly runner: Runner;
  readonly webhooks: WebhookSender;
}
