/** How many sockets one owner may have open. API Gateway closes each after two hours, told or not. */
export const longestSocketMs = 2 * 60 * 60 * 1000;

export interface SocketStore {
  /** One conditional update; sockets that must have ended by now don't count. */
  admit(owner: string, connectionId: string, now: number, limit: number): Promise<'admitted' | 'too_many'>;
  /** Best effort: nothing depends on it, since the disconnect message may never come. */
  leave(owner: string, connectionId: string): Promise<void>;
}
