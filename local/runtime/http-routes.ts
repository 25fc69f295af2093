import { decodePath, type MatchedRoute } from './http-event.ts';

interface ParsedRoute<T> {
  readonly routeKey: string;
  readonly method: string;
  readonly segments: readonly string[];
  readonly target: T;
}

/**
 * Finds the route of a request by API Gateway's order: a full literal match first, then path variables, then a greedy
 * `{name+}`, then `$default`; a named method before `ANY`.
 */
export class RouteTable<T> {
  readonly #routes: readonly ParsedRoute<T>[];
  readonly #fallback: ParsedRoute<T> | undefined;

  constructor(routes: Iterable<readonly [routeKey: string, target: T]>) {
    const parsed = [...routes].map(([routeKey, target]) => parse(routeKey, target));
    this.#fallback = parsed.find((route) => route.routeKey === '$default');
    this.#routes = parsed.filter((route) => route !== this.#fallback).toSorted(bySpecificity);
  }

  keys(): string[] {
    return [...this.#routes, ...(this.#fallback ? [this.#fallback] : [])].map((route) => route.routeKey);
  }

  find(method: string, path: string): (MatchedRoute & { target: T }) | undefined {
    const segments = path.split('/').slice(1);
    for (const route of this.#routes) {
      if (route.method !== 'ANY' && route.method !== method) continue;
      const pathParameters = match(route.segments, segments);
      if (pathParameters !== undefined) return { routeKey: route.routeKey, pathParameters, target: route.target };
    }
    const fallback = this.#fallback;
    return fallback && { routeKey: fallback.routeKey, pathParameters: {}, target: fallback.target };
  }
}

function parse<T>(routeKey: string, target: T): ParsedRoute<T> {
  const [method = '', path = ''] = routeKey.split(' ');
  return { routeKey, method, segments: path.split('/').slice(1), target };
}

const isGreedy = (segment: string) => /^\{[^}]+\+\}$/.test(segment);
const isVariable = (segment: string) => /^\{[^}]+\}$/.test(segment);

function bySpecificity<T>(a: ParsedRoute<T>, b: ParsedRoute<T>): number {
  const length = Math.max(a.segments.length, b.segments.length);
  for (let index = 0; index < length; index += 1) {
    const difference = rank(a.segments[index]) - rank(b.segments[index]);
    if (difference !== 0) return difference;
  }
  return Number(a.method === 'ANY') - Number(b.method === 'ANY');
}

function rank(segment: string | undefined): number {
  if (segment === undefined) return 3;
  if (isGreedy(segment)) return 2;
  return isVariable(segment) ? 1 : 0;
}

function match(pattern: readonly string[], path: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, segment] of pattern.entries()) {
    if (isGreedy(segment)) {
      if (path.length <= index) return undefined;
      parameters[segment.slice(1, -2)] = decodePath(path.slice(index).join('/'));
      return parameters;
    }
    const actual = path[index];
    if (actual === undefined) return undefined;
    if (!isVariable(segment)) {
      if (segment !== decodePath(actual)) return undefined;
    } else if (actual === '') return undefined;
    else parameters[segment.slice(1, -1)] = decodePath(actual);
  }
  return pattern.length === path.length ? parameters : undefined;
}
