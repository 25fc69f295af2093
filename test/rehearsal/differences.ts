import * as z from 'zod';
import { callAws, type Account } from './aws.ts';
import type { Deployment } from './deploy.ts';
import { linesOf } from './logs.ts';
import type { ExpectedDifference, Proof } from './verdict.ts';

/** What a probe may look at: after the suite has run. */
export interface Rehearsed {
  readonly account: Account;
  readonly deployment: Deployment;
  readonly logs: ReadonlyMap<string, readonly string[]>;
}

export interface Difference extends ExpectedDifference {
  /** What the emulator does otherwise, what AWS does, and what that keeps the rehearsal from showing. */
  readonly reason: string;
  readonly probe: (rehearsed: Rehearsed) => Promise<Proof>;
}

const shown: Proof = { kind: 'shown' };

function shownIf(isShown: boolean, instead: string): Proof {
  return isShown ? shown : { kind: 'not-shown', instead };
}

/** MiniStack 1.5.33. One that its next version mends fails the rehearsal until it is taken from here. */
export const differences: readonly Difference[] = [
  {
    id: 'http-api-cors',
    reason:
      'CloudFormation’s CorsConfiguration of an HTTP API is stored in its PascalCase spelling and then not found: ' +
      'preflights get 403, answers no CORS headers. AWS answers both; the local runtime holds us to that.',
    breaks: [
      'cors.test.ts > a browser may send what a submit needs',
      'cors.test.ts > a browser may read what an answer says',
      'cors.test.ts > a refusal can be read by a browser too',
    ],
    probe: async ({ deployment }) => {
      const preflight = { Origin: 'https://app.example.com', 'Access-Control-Request-Method': 'GET' };
      const answer = await fetch(`${deployment.url}/api/v1/health`, { method: 'OPTIONS', headers: preflight });
      await answer.body?.cancel();
      const allowed = answer.headers.get('access-control-allow-origin');
      return shownIf(answer.status === 403 && allowed === null, `${answer.status}, allowing ${allowed}`);
    },
  },
  {
    id: 'secret-ref',
    reason:
      '`Ref` of a secret is its name; AWS gives its ARN, which our policies and variables hold. test/rehearsal/app.ts ' +
      'therefore deploys the attribute Id, which is the ARN in both.',
    breaks: [],
    probe: async ({ deployment }) => {
      const ref = deployment.outputs['Slowlane-dev-data']['ProbeSecretRef'] ?? '';
      return shownIf(ref !== '' && !ref.startsWith('arn:'), `Ref is ${ref}`);
    },
  },
  {
    id: 'api-hosts',
    reason:
      'The APIs’ own host names lead nowhere; they are reached by a path of the emulator. test/rehearsal/app.ts ' +
      'therefore replaces the three addresses in the functions’ variables.',
    breaks: [],
    probe: async ({ account, deployment }) => {
      const { host } = new URL(deployment.outputs['Slowlane-dev'].SocketUrl);
      return shownIf(host !== new URL(account.endpoint).host, `the socket is at ${host}`);
    },
  },
  {
    id: 'table-ttl',
    reason: 'A table’s TimeToLiveSpecification is dropped, so nothing expires. AWS enables it.',
    breaks: [],
    probe: async ({ account, deployment: { tableName } }) => {
      const schema = z.object({ TimeToLiveDescription: z.object({ TimeToLiveStatus: z.string() }) });
      const said = await callAws(account, 'dynamodb', 'DescribeTimeToLive', { TableName: tableName }, schema);
      const { TimeToLiveStatus: status } = said.TimeToLiveDescription;
      return shownIf(status === 'DISABLED', `TTL is ${status}`);
    },
  },
  {
    id: 'embedded-metrics',
    reason: 'Metrics that functions write in their logs (EMF) are not extracted, so no alarm of ours can go off.',
    breaks: [],
    probe: async ({ account, logs }) => {
      const schema = z.object({ Metrics: z.array(z.unknown()).default([]) });
      const { Metrics } = await callAws(account, 'monitoring', 'ListMetrics', { Namespace: 'Slowlane' }, schema);
      const written = linesOf(logs, 'reconcilejobs').filter((line) => line.includes('"CloudWatchMetrics"'));
      return shownIf(written.length > 0 && Metrics.length === 0, `${written.length} written, ${Metrics.length} listed`);
    },
  },
  {
    id: 'socket-logs',
    reason:
      'Functions behind socket routes leave no log, so that an error of theirs shows only in what the suite hears ' +
      '(their authorizer’s log is there).',
    breaks: [],
    probe: async ({ logs }) => {
      const lines = ['connectsocket', 'followjob', 'disconnectsocket'].flatMap((part) => linesOf(logs, part));
      return shownIf(lines.length === 0, `${lines.length} lines`);
    },
  },
  {
    id: 'access-logs',
    reason: 'The HTTP API’s access log is made and never written.',
    breaks: [],
    probe: async ({ logs }) => {
      const lines = linesOf(logs, 'AccessLogs');
      return shownIf(lines.length === 0, `${lines.length} lines`);
    },
  },
];
