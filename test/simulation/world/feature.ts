/** What is submitted in a simulated world, to the vendor `v`, in a lane. */
export function featureIn(lane: string, maxRunMs: number) {
  return {
    name: 'upscale',
    vendor: 'v',
    adapterVersion: 1,
    lane,
    maxQueueMs: 3_600_000,
    maxRunMs,
    typicalRunMs: 3_000,
    picture: { accepts: ['image/png'], maxBytes: 10_000, maxPixels: 100 },
    needsConsent: false,
    readParameters: (sent: object) => ({ kind: 'read', parameters: { ...sent } }) as const,
  };
}
