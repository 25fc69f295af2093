/**
 * On-demand list prices in US dollars, region us-east-1, as of November 2026, without free tiers. AWS changes them: check
 * the ones that matter to you on the pricing pages named here.
 */
export const prices = {
  /** aws.amazon.com/api-gateway/pricing: HTTP APIs, first 300 million. */
  httpRequest: 1.0 / 1e6,
  /** WebSocket APIs: messages of 32 KB, first billion. */
  socketMessage: 1.0 / 1e6,
  socketMinute: 0.25 / 1e6,
  /** aws.amazon.com/lambda/pricing: arm64. */
  lambdaRequest: 0.2 / 1e6,
  lambdaGbSecond: 0.000_013_333_4,
  /** aws.amazon.com/dynamodb/pricing/on-demand: standard table class. */
  writeUnit: 0.625 / 1e6,
  readUnit: 0.125 / 1e6,
  /** aws.amazon.com/sqs/pricing: standard queues. */
  queueRequest: 0.4 / 1e6,
  /** aws.amazon.com/s3/pricing: standard storage. */
  objectPut: 5.0 / 1e6,
  objectGet: 0.4 / 1e6,
  objectGbMonth: 0.023,
  /** aws.amazon.com/eventbridge/pricing: custom events. */
  busEvent: 1.0 / 1e6,
  /** aws.amazon.com/cloudwatch/pricing: log ingestion. */
  logGb: 0.5,
} as const;
