async function freeHold(world, lane, hold, delayMs) {
  (hold !== void 0 && (await world.lanes.free(lane, hold.token)), await world.doorbell.ring(lane, void 0, delayMs));
}
var nothing = {
    compares: [],
    requires: [],
    raises: [],
    sets: [],
    setsOnce: [],
    clears: [],
    unbinds: !1,
    announces: !1,
    ends: !1,
    bookkeeping: !1,
  },
  toTerminal = { announces: !0, ends: !0 },
  ending = ['finishedAt', 'ttl', 'checkAt'],
  takenSend = ['claimToken', 'sendBy', 'dispatchBy', 'sends'],
  spent = ['claimToken', 'dispatchBy', 'firstTriedAt', 'runUntil', 'watchUntil'],
  lifecycle = {
    claim: {
      ...nothing,
      from: ['queued'],
      to: 'dispatching',
      compares: ['attempt'],
      requires: ['no-cancel'],
      raises: ['attempt'],
      sets: ['hold', 'claimToken', 'sendBy', 'dispatchBy', 'sends', 'tries', 'checkAt'],
      setsOnce: ['firstTriedAt', 'startedAt'],
      why: 'a worker, with a unit of the lane held for the attempt that it read',
    },
    release: {
      ...nothing,
      from: ['dispatching'],
      to: 'queued',
      compares: ['attempt'],
      requires: ['no-cancel', 'no-vendor-job', 'never-unknown'],
      raises: ['attempt'],
      sets: ['checkAt'],
      clears: takenSend,
      unbinds: !0,
      why: 'proven not taken, and no earlier send unknown',
    },
    releaseCanceled: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching'],
      to: 'canceled',
      compares: ['attempt'],
      requires: ['cancel-asked', 'no-vendor-job', 'never-unknown'],
      sets: ending,
      clears: [...takenSend, 'firstTriedAt'],
      unbinds: !0,
      why: 'proven not taken, and its owner asked to cancel',
    },
    releaseProven: {
      ...nothing,
      from: ['needs_attention'],
      to: 'queued',
      compares: ['version'],
      requires: ['no-cancel', 'no-vendor-job'],
      raises: ['attempt'],
      sets: ['checkAt'],
      clears: [...takenSend, 'flag', 'maybeSent', 'announce'],
      unbinds: !0,
      why: 'absence proven, or the only send answered "not taken" after all',
    },
    releaseProvenCanceled: {
      ...nothing,
      ...toTerminal,
      from: ['needs_attention'],
      to: 'canceled',
      compares: ['version'],
      requires: ['cancel-asked', 'no-vendor-job'],
      sets: ending,
      clears: ['firstTriedAt', ...takenSend, 'flag', 'maybeSent'],
      unbinds: !0,
      why: 'absence proven, and its owner asked to cancel',
    },
    retake: {
      ...nothing,
      from: ['dispatching'],
      to: 'dispatching',
      compares: ['attempt'],
      requires: ['no-cancel', 'no-vendor-job', 'hold-as-read'],
      raises: ['attempt'],
      sets: ['claimToken', 'sendBy', 'dispatchBy', 'sends', 'tries', 'maybeSent', 'checkAt'],
      why: 'the same key again, where the vendor replays the original',
    },
    retakeParked: {
      ...nothing,
      from: ['needs_attention'],
      to: 'dispatching',
      compares: ['version', 'generation'],
      requires: ['no-cancel', 'no-vendor-job', 'hold-as-read'],
      raises: ['attempt'],
      sets: ['claimToken', 'sendBy', 'dispatchBy', 'maybeSent', 'checkAt'],
      clears: ['flag', 'announce'],
      why: 'an operator: the same key again; a worker sends it',
    },
    accept: {
      ...nothing,
      from: ['dispatching', 'needs_attention'],
      to: 'running',
      compares: ['generation'],
      requires: ['hold-bound', 'same-vendor-job'],
      sets: ['vendorJobId', 'watchUntil', 'checkAt'],
      setsOnce: ['runUntil', 'startedAt'],
      clears: ['flag', 'maybeSent', 'announce'],
      why: 'a receipt of this generation',
    },
    note: {
      ...nothing,
      from: ['needs_attention'],
      to: 'needs_attention',
      compares: ['generation'],
      requires: ['hold-freed', 'same-vendor-job'],
      sets: ['vendorJobId', 'checkAt'],
      why: 'a receipt after its hold was freed',
    },
    attach: {
      ...nothing,
      from: ['running'],
      to: 'running',
      compares: ['attempt'],
      requires: ['watch-as-read'],
      raises: ['attempt'],
      sets: ['watchUntil', 'checkAt'],
      why: 'a worker takes over an expired or surrendered watch',
    },
    surrender: {
      ...nothing,
      from: ['running'],
      to: 'running',
      compares: ['attempt'],
      sets: ['watchUntil', 'checkAt'],
      why: 'a worker near its timeout hands its watch over',
    },
    progress: {
      ...nothing,
      from: ['running'],
      to: 'running',
      compares: ['attempt'],
      sets: ['progress', 'watchUntil'],
      why: 'at most once a second',
    },
    complete: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching', 'running', 'needs_attention'],
      to: 'succeeded',
      compares: ['generation'],
      sets: [...ending, 'results', 'progress'],
      clears: [...spent, 'flag', 'maybeSent'],
      unbinds: !0,
      why: "the vendor's word, our own copy of the picture made",
    },
    failAtVendor: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching', 'running', 'needs_attention'],
      to: 'failed',
      compares: ['generation'],
      sets: [...ending, 'failure'],
      clears: [...spent, 'progress', 'flag', 'maybeSent'],
      unbinds: !0,
      why: "the vendor's word",
    },
    cancelAtVendor: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching', 'running', 'needs_attention'],
      to: 'canceled',
      compares: ['generation'],
      sets: ending,
      clears: [...spent, 'progress', 'flag', 'maybeSent'],
      unbinds: !0,
      why: "the vendor's word",
    },
    refuse: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching', 'needs_attention'],
      to: 'failed',
      compares: ['attempt'],
      requires: ['no-vendor-job', 'only-send'],
      sets: [...ending, 'failure'],
      clears: [...spent, 'flag', 'maybeSent'],
      unbinds: !0,
      why: "a definitive refusal of the generation's only send",
    },
    spend: {
      ...nothing,
      ...toTerminal,
      from: ['dispatching'],
      to: 'failed',
      compares: ['attempt'],
      requires: ['no-vendor-job', 'never-unknown'],
      sets: [...ending, 'failure'],
      unbinds: !0,
      clears: [...spent],
      why: 'its sends are spent, and none of them unknown',
    },
    expire: {
      ...nothing,
      ...toTerminal,
      from: ['queued'],
      to: 'failed',
      compares: ['attempt'],
      sets: [...ending, 'failure'],
      clears: [...spent],
      why: 'queued longer than its feature allows',
    },
    cancelQueued: {
      ...nothing,
      ...toTerminal,
      from: ['queued'],
      to: 'canceled',
      sets: ending,
      clears: [...spent],
      why: 'its owner, while it waits',
    },
    askToCancel: {
      ...nothing,
      from: ['dispatching', 'running', 'needs_attention'],
      to: 'same',
      setsOnce: ['cancelRequestedAt'],
      why: 'its owner; whoever accepts acts on it',
    },
    flagUnknown: {
      ...nothing,
      from: ['dispatching'],
      to: 'needs_attention',
      compares: ['attempt'],
      sets: ['flag', 'maybeSent', 'checkAt'],
      clears: ['claimToken', 'dispatchBy'],
      announces: !0,
      why: 'a send that may have been taken',
    },
    flagLost: {
      ...nothing,
      from: ['running'],
      to: 'needs_attention',
      compares: ['version'],
      sets: ['flag', 'checkAt'],
      clears: ['claimToken', 'dispatchBy', 'watchUntil'],
      announces: !0,
      why: 'gone at the vendor, or over its deadline',
    },
    flagRestored: {
      ...nothing,
      from: ['queued'],
      to: 'needs_attention',
      compares: ['attempt'],
      raises: ['attempt'],
      sets: ['flag', 'maybeSent', 'checkAt'],
      announces: !0,
      why: 'the table was restored: it may have been sent since',
    },
    failByOperator: {
      ...nothing,
      ...toTerminal,
      from: ['running', 'needs_attention'],
      to: 'failed',
      compares: ['version', 'generation'],
      sets: [...ending, 'failure'],
      clears: [...spent, 'progress', 'flag'],
      why: "a person; keeps its hold until it can't be running",
    },
    unbind: {
      ...nothing,
      from: ['needs_attention', 'failed'],
      to: 'same',
      compares: ['version'],
      requires: ['hold-as-read'],
      sets: ['checkAt'],
      unbinds: !0,
      why: "it can't be running any more",
    },
    resend: {
      ...nothing,
      from: ['needs_attention'],
      to: 'queued',
      compares: ['version', 'generation'],
      requires: ['hold-freed'],
      raises: ['attempt', 'generation'],
      sets: ['queuedAt', 'laneClosedMs', 'checkAt'],
      clears: [
        ...takenSend,
        'tries',
        'firstTriedAt',
        'vendorJobId',
        'maybeSent',
        'cancelRequestedAt',
        'flag',
        'runUntil',
        'watchUntil',
        'progress',
        'announce',
      ],
      why: 'a person, with a reason',
    },
    fence: {
      ...nothing,
      from: ['queued'],
      to: 'queued',
      compares: ['attempt'],
      raises: ['attempt'],
      why: 'the sweep, before it frees a hold that was taken for this attempt',
    },
    look: {
      ...nothing,
      from: ['queued', 'dispatching', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
      to: 'same',
      compares: ['version'],
      sets: ['checkAt'],
      bookkeeping: !0,
      why: 'the reconciler looked',
    },
    announced: {
      ...nothing,
      from: ['queued', 'dispatching', 'running', 'needs_attention', 'succeeded', 'failed', 'canceled'],
      to: 'same',
      requires: ['announce-as-read'],
      clears: ['announce'],
      bookkeeping: !0,
      why: 'its event was sent',
    },
  },
  transitions = Object.keys(lifecycle);
function move(transition, job, change) {
  return { transition, job, change };
}
var activeStates = ['queued', 'dispatching', 'running', 'needs_attention'],
  terminalStates = ['succeeded', 'failed', 'canceled'],
  states = [...activeStates, ...terminalStates];
function isTerminal(state) {
  return state === 'succeeded' || state === 'failed' || state === 'canceled';
}
function vendorKeyOf(job) {
  return `${job.id}.${job.generation}`;
}
function inputKeyOf(job) {
  return `inputs/${job.owner}/${job.id}/${job.submitToken}`;
}
function resultKeyOf(job, index) {
  return `results/${job.owner}/${job.id}/${job.generation}-${index}`;
}
async function recordEvidence(world, job, what, detail) {
  await world.evidence.add(job.id, {
    at: world.clock.now(),
    attempt: job.attempt,
    generation: job.generation,
    vendorKey: vendorKeyOf(job),
    what,
    detail,
  });
}
async function announce(world, job) {
  let version = job.announce;
  version !== void 0 &&
    (await world.bus.publish({
      id: `${job.id}.${version}`,
      at: job.finishedAt ?? job.flag?.since ?? job.createdAt,
      job,
    }),
    await world.jobs.move(move('announced', job, {})),
    world.notices.note({ kind: 'announced', job }));
}
function textAt(bytes, start, length) {
  return String.fromCharCode(...bytes.subarray(start, start + length));
}
function hasTextAt(bytes, start, text) {
  for (let index = 0; index < text.length; index++) if (bytes[start + index] !== text.charCodeAt(index)) return !1;
  return !0;
}
function viewOf(bytes) {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
var ORIENTATION_TAG = 274,
  SHORT = 3,
  HEADER_BYTES = 8,
  ENTRY_BYTES = 12,
  EXIF_PREFIX = 'Exif\0\0';
function readOrientation(exif) {
  let tiff = hasTextAt(exif, 0, EXIF_PREFIX) ? exif.subarray(EXIF_PREFIX.length) : exif;
  if (tiff.length < HEADER_BYTES) return;
  let littleEndian = hasTextAt(tiff, 0, 'II*\0');
  if (!littleEndian && !hasTextAt(tiff, 0, 'MM\0*')) return;
  let view = viewOf(tiff),
    directory = view.getUint32(4, littleEndian);
  if (directory + 2 > tiff.length) return;
  let entries = view.getUint16(directory, littleEndian);
  for (let index = 0; index < entries; index++) {
    let entry = directory + 2 + index * ENTRY_BYTES;
    if (entry + ENTRY_BYTES > tiff.length) return;
    if (view.getUint16(entry, littleEndian) !== ORIENTATION_TAG) continue;
    return view.getUint16(entry + 2, littleEndian) === SHORT && view.getUint32(entry + 4, littleEndian) === 1
      ? asOrientation(view.getUint16(entry + 8, littleEndian))
      : void 0;
  }
}
function asOrientation(value) {
  switch (value) {
    case 1:
    case 2:
    case 3:
    case 4:
    case 5:
    case 6:
    case 7:
    case 8:
      return value;
    default:
      return;
  }
}
function refusePicture(code, detail) {
  return { kind: 'refused', code, detail };
}
function brokenPicture(detail) {
  return refusePicture('image_broken', detail);
}
function refuseDimensions(width, height, frames, maxPixels) {
  if (width === 0 || height === 0) return brokenPicture('The picture declares a width or a height of zero.');
  if (width * height * frames <= maxPixels) return;
  let across = frames === 1 ? '' : ` in ${frames} frames`;
  return refusePicture(
    'image_too_many_pixels',
    `The picture declares ${width} x ${height} pixels${across}; at most ${maxPixels} pixels are taken.`,
  );
}
var DHT = 196,
  DQT = 219,
  DRI = 221,
  HUFFMAN_LENGTHS = 16;
function refuseTables(marker, payload) {
  switch (marker) {
    case DHT:
      return areHuffmanTables(payload) ? void 0 : brokenPicture('The JPEG has an impossible Huffman table.');
    case DQT:
      return areQuantizationTables(payload) ? void 0 : brokenPicture('The JPEG has an impossible quantization table.');
    case DRI:
      return payload.length === 2 ? void 0 : brokenPicture('The JPEG has an impossible restart interval.');
    default:
      return;
  }
}
function areHuffmanTables(payload) {
  let at = 0;
  for (; at < payload.length;) {
    let head = payload[at] ?? 255;
    if (head >> 4 > 1 || (head & 15) > 3) return !1;
    let values = 0,
      free = 1;
    for (let length = 1; length <= HUFFMAN_LENGTHS; length++) {
      let count = payload[at + length] ?? 0;
      if (((values += count), (free = free * 2 - count), free < 0)) return !1;
    }
    if (((at += 1 + HUFFMAN_LENGTHS + values), values > 256)) return !1;
  }
  return at === payload.length && at > 0;
}
function areQuantizationTables(payload) {
  let at = 0;
  for (; at < payload.length;) {
    let head = payload[at] ?? 255;
    if (head >> 4 > 1 || (head & 15) > 3) return !1;
    at += 1 + 64 * (1 + (head >> 4));
  }
  return at === payload.length && at > 0;
}
var EOI = 217,
  SOS = 218,
  APP1 = 225,
  TEM = 1,
  MAX_SCANS = 200,
  MAX_SEGMENTS = 1e4,
  truncated = () => brokenPicture('The JPEG ends before its end marker: it was cut off.');
function walkJpeg(bytes, maxPixels) {
  let walk = { segments: [], frame: void 0, orientation: void 0, scans: 0 },
    at = 2;
  for (;;) {
    let start = markerStart(bytes, at);
    if (typeof start != 'number') return start;
    let marker = bytes[start + 1] ?? 0;
    if (marker === EOI) return finish(walk, start + 2);
    if (marker === TEM) {
      at = start + 2;
      continue;
    }
    let end = takeSegment(walk, bytes, start, maxPixels);
    if (typeof end != 'number') return end;
    if (walk.segments.push({ marker, start, end }) > MAX_SEGMENTS)
      return brokenPicture(`The JPEG has more than ${MAX_SEGMENTS} segments.`);
    at = end;
  }
}
function finish({ segments, frame, orientation, scans }, end) {
  return frame === void 0 || scans === 0
    ? brokenPicture('The JPEG has no frame or no scan: no picture in it.')
    : { kind: 'jpeg', width: frame.width, height: frame.height, frames: 1, orientation, segments, end };
}
function takeSegment(walk, bytes, start, maxPixels) {
  let marker = bytes[start + 1] ?? 0;
  if (marker < 192 || (marker >= 208 && marker <= 216))
    return brokenPicture('The JPEG has a marker where none may be.');
  if (start + 4 > bytes.length) return truncated();
  let length = viewOf(bytes).getUint16(start + 2),
    end = start + 2 + length;
  if (length < 2) return brokenPicture('A JPEG segment declares an impossible length.');
  if (end > bytes.length) return truncated();
  let payload = bytes.subarray(start + 4, end);
  if (isFrame(marker)) return takeFrame(walk, marker, payload, maxPixels) ?? end;
  if (marker === SOS) return takeScan(walk, bytes, payload, end);
  let refusal = refuseTables(marker, payload);
  return refusal !== void 0
    ? refusal
    : (marker === APP1 &&
        walk.scans === 0 &&
        hasTextAt(payload, 0, 'Exif\0\0') &&
        (walk.orientation ??= readOrientation(payload)),
      end);
}
function takeFrame(walk, marker, payload, maxPixels) {
  if (walk.frame !== void 0) return brokenPicture('The JPEG has more than one frame.');
  let frame = readFrame(marker, payload);
  return 'kind' in frame ? frame : ((walk.frame = frame), refuseDimensions(frame.width, frame.height, 1, maxPixels));
}
function takeScan(walk, bytes, header, dataStart) {
  let refusal = refuseScan(header, walk.frame);
  if (refusal !== void 0) return refusal;
  let dataEnd = scanEnd(bytes, dataStart);
  return dataEnd === void 0
    ? truncated()
    : dataEnd === dataStart
      ? brokenPicture('A JPEG scan has no data.')
      : ++walk.scans > MAX_SCANS
        ? brokenPicture(`The JPEG has more than ${MAX_SCANS} scans.`)
        : dataEnd;
}
function isFrame(marker) {
  return marker === 222 || marker === 223
    ? !0
    : marker >= 192 && marker <= 207 && marker !== 196 && marker !== 200 && marker !== 204;
}
function markerStart(bytes, at) {
  if (at >= bytes.length) return truncated();
  if (bytes[at] !== 255) return brokenPicture('The JPEG has bytes between its segments.');
  let start = at;
  for (; bytes[start + 1] === 255;) start++;
  return start + 1 < bytes.length ? start : truncated();
}
function readFrame(marker, payload) {
  if (marker > 194)
    return refusePicture('image_unsupported', 'Lossless, hierarchical and arithmetic-coded JPEGs are not taken.');
  let count = payload[5] ?? 0;
  if (payload.length < 6 || payload.length !== 6 + 3 * count)
    return brokenPicture('The JPEG frame header has a wrong length.');
  if (payload[0] !== 8) return refusePicture('image_unsupported', 'Only JPEGs of 8 bits per sample are taken.');
  if (count !== 1 && count !== 3 && count !== 4)
    return refusePicture('image_unsupported', 'Only JPEGs of 1, 3 or 4 colour components are taken.');
  let componentIds = [];
  for (let at = 6; at < payload.length; at += 3) {
    let sampling = payload[at + 1] ?? 0,
      [across, down] = [sampling >> 4, sampling & 15];
    if (across < 1 || across > 4 || down < 1 || down > 4 || (payload[at + 2] ?? 0) > 3)
      return brokenPicture('The JPEG frame header has an impossible component.');
    componentIds.push(payload[at] ?? 0);
  }
  let view = viewOf(payload);
  return { height: view.getUint16(1), width: view.getUint16(3), componentIds };
}
function refuseScan(payload, frame) {
  if (frame === void 0) return brokenPicture('The JPEG has a scan before its frame header.');
  let count = payload[0] ?? 0;
  if (count < 1 || count > frame.componentIds.length || payload.length !== 4 + 2 * count)
    return brokenPicture('A JPEG scan header has a wrong length.');
  for (let index = 0; index < count; index++)
    if (!frame.componentIds.includes(payload[1 + 2 * index] ?? -1))
      return brokenPicture('A JPEG scan names a component that the frame does not have.');
}
function scanEnd(bytes, start) {
  for (let at = start; at + 1 < bytes.length; at++) {
    if (bytes[at] !== 255) continue;
    let next = bytes[at + 1] ?? 0;
    if (next !== 255) {
      if (next !== 0 && (next < 208 || next > 215)) return at;
      at++;
    }
  }
}
var TABLE = Uint32Array.from({ length: 256 }, (_, value) => {
  let remainder = value;
  for (let bit = 0; bit < 8; bit++) remainder = remainder & 1 ? (remainder >>> 1) ^ 3988292384 : remainder >>> 1;
  return remainder;
});
function crc32(bytes, start, end) {
  let remainder = 4294967295;
  for (let at = start; at < end; at++)
    remainder = (TABLE[(remainder ^ (bytes[at] ?? 0)) & 255] ?? 0) ^ (remainder >>> 8);
  return (remainder ^ 4294967295) >>> 0;
}
var PNG_SIGNATURE_BYTES = 8,
  IHDR_BYTES = 13,
  FRAME_CONTROL_BYTES = 26,
  MAX_CHUNKS = 1e5,
  DEFLATE_BEST_RATIO = 1032,
  BIT_DEPTHS = new Map([
    [0, { samples: 1, depths: [1, 2, 4, 8, 16] }],
    [2, { samples: 3, depths: [8, 16] }],
    [3, { samples: 1, depths: [1, 2, 4, 8] }],
    [4, { samples: 2, depths: [8, 16] }],
    [6, { samples: 4, depths: [8, 16] }],
  ]);
function walkPng(bytes, maxPixels) {
  let chunks = readChunks(bytes);
  if ('kind' in chunks) return chunks;
  let [first] = chunks;
  if (first?.type === 'CgBI')
    return refusePicture('image_unsupported', "This is Apple's CgBI variant of PNG, which only its own devices read.");
  if (first?.type !== 'IHDR') return brokenPicture('The PNG does not begin with its header.');
  let header = readHeader(dataOf(bytes, first));
  if ('kind' in header) return header;
  let frames = Math.max(1, countFrames(chunks)),
    refusal =
      refuseDimensions(header.width, header.height, frames, maxPixels) ??
      refuseOrder(chunks, header) ??
      refuseFrames(bytes, chunks, header) ??
      refuseData(bytes, chunks, header);
  if (refusal !== void 0) return refusal;
  let exif = chunks.find((chunk) => chunk.type === 'eXIf');
  return {
    kind: 'png',
    width: header.width,
    height: header.height,
    frames,
    orientation: exif === void 0 ? void 0 : readOrientation(dataOf(bytes, exif)),
    chunks,
    end: chunks.at(-1)?.end ?? bytes.length,
  };
}
function dataOf(bytes, chunk) {
  return bytes.subarray(chunk.start + 8, chunk.end - 4);
}
function readChunks(bytes) {
  let view = viewOf(bytes),
    chunks = [],
    start = PNG_SIGNATURE_BYTES;
  for (;;) {
    if (start + 12 > bytes.length) return brokenPicture('The PNG ends before its IEND chunk: it was cut off.');
    let length = view.getUint32(start),
      type = textAt(bytes, start + 4, 4),
      end = start + 12 + length;
    if (!/^[A-Za-z]{4}$/.test(type)) return brokenPicture('The PNG has a chunk with an impossible type.');
    if (end > bytes.length) return brokenPicture('The PNG ends within a chunk: it was cut off.');
    if (crc32(bytes, start + 4, end - 4) !== view.getUint32(end - 4))
      return brokenPicture('A PNG chunk does not match its checksum.');
    if (chunks.push({ type, start, end }) > MAX_CHUNKS)
      return brokenPicture(`The PNG has more than ${MAX_CHUNKS} chunks.`);
    if (type === 'IEND') return length === 0 ? chunks : brokenPicture('The PNG end chunk is not empty.');
    start = end;
  }
}
function readHeader(data) {
  if (data.length !== IHDR_BYTES) return brokenPicture('The PNG header has a wrong length.');
  let view = viewOf(data),
    [width, height] = [view.getUint32(0), view.getUint32(4)];
  if (width > 2147483647 || height > 2147483647) return brokenPicture('The PNG declares impossible dimensions.');
  let [depth = 0, colourType = 0, compression, filter, interlace = 0] = data.subarray(8),
    kind = BIT_DEPTHS.get(colourType);
  return kind === void 0 || !kind.depths.includes(depth) || compression !== 0 || filter !== 0 || interlace > 1
    ? brokenPicture('The PNG header has an impossible combination of colour type, depth and methods.')
    : { width, height, bitsPerPixel: depth * kind.samples, palette: colourType === 3 };
}
function refuseOrder(chunks, header) {
  let palettes = 0,
    dataRuns = 0;
  for (let [index, { type }] of chunks.entries())
    switch (type) {
      case 'IHDR':
        if (index > 0) return brokenPicture('The PNG has more than one header.');
        break;
      case 'PLTE':
        if (++palettes > 1 || dataRuns > 0) return brokenPicture('The PNG has a misplaced palette.');
        break;
      case 'IDAT':
        chunks[index - 1]?.type !== 'IDAT' && dataRuns++;
        break;
      case 'IEND':
        break;
      default:
        if (/^[A-Z]/.test(type))
          return refusePicture('image_unsupported', 'The PNG needs a chunk that is not in the standard.');
    }
  if (dataRuns !== 1) return brokenPicture('The PNG does not have its image data in exactly one run of chunks.');
  if (header.palette && palettes === 0) return brokenPicture('The PNG needs a palette and has none.');
}
function countFrames(chunks) {
  return chunks.some((chunk) => chunk.type === 'acTL') ? chunks.filter((chunk) => chunk.type === 'fcTL').length : 0;
}
function refuseFrames(bytes, chunks, header) {
  for (let chunk of chunks) {
    if (chunk.type !== 'fcTL') continue;
    let data = dataOf(bytes, chunk);
    if (data.length !== FRAME_CONTROL_BYTES) return brokenPicture('A PNG frame header has a wrong length.');
    let view = viewOf(data),
      right = view.getUint32(4) + view.getUint32(12),
      bottom = view.getUint32(8) + view.getUint32(16);
    if (right > header.width || bottom > header.height)
      return brokenPicture('A PNG frame lies outside of the picture.');
  }
}
function refuseData(bytes, chunks, header) {
  let head = [],
    dataBytes = 0;
  for (let chunk of chunks) {
    if (chunk.type !== 'IDAT') continue;
    let data = dataOf(bytes, chunk);
    ((dataBytes += data.length), head.length < 2 && head.push(...data.subarray(0, 2 - head.length)));
  }
  let [method = 0, flags = 0] = head;
  if (head.length < 2 || (method & 15) !== 8 || (method * 256 + flags) % 31 !== 0)
    return brokenPicture('The PNG image data is not compressed as PNG requires.');
  if ((header.width * header.height * header.bitsPerPixel) / 8 > dataBytes * DEFLATE_BEST_RATIO)
    return brokenPicture('The PNG declares more pixels than its data can hold.');
}
var RIFF_HEADER_BYTES = 12,
  ANIMATION_FRAME_HEADER_BYTES = 16,
  CHUNK_HEADER_BYTES = 8,
  MAX_CHUNKS2 = 1e5;
var VP8X_ANIMATION = 2,
  VP8X_EXIF = 8;
function walkWebp(bytes, maxPixels) {
  if (bytes.length < RIFF_HEADER_BYTES + CHUNK_HEADER_BYTES)
    return brokenPicture('The WebP was cut off in its header.');
  let end = viewOf(bytes).getUint32(4, !0) + CHUNK_HEADER_BYTES;
  if (end > bytes.length) return brokenPicture('The WebP is shorter than it declares: it was cut off.');
  let chunks = readWebpChunks(bytes, RIFF_HEADER_BYTES, end);
  if ('kind' in chunks) return chunks;
  let [first] = chunks;
  if (first === void 0) return brokenPicture('The WebP is empty.');
  if (first.type !== 'VP8X') {
    let size = readImage(bytes, first);
    return 'kind' in size
      ? size
      : (refuseDimensions(size.width, size.height, 1, maxPixels) ?? {
          kind: 'webp',
          ...size,
          frames: 1,
          orientation: void 0,
          chunks,
          end,
        });
  }
  let canvas = readCanvas(bytes, first);
  if ('kind' in canvas) return canvas;
  let { width, height } = canvas,
    animated = (canvas.flags & VP8X_ANIMATION) !== 0,
    frames = animated ? chunks.filter((chunk) => chunk.type === 'ANMF').length : 1,
    refusal =
      refuseDimensions(width, height, Math.max(1, frames), maxPixels) ??
      (animated ? refuseAnimation(bytes, chunks, canvas) : refuseImage(bytes, chunks, canvas));
  return refusal !== void 0
    ? refusal
    : { kind: 'webp', width, height, frames, orientation: orientationOf(bytes, chunks, canvas), chunks, end };
}
function readWebpChunks(bytes, start, end) {
  let view = viewOf(bytes),
    chunks = [],
    at = start;
  for (; at < end;) {
    if (at + CHUNK_HEADER_BYTES > end) return brokenPicture('The WebP ends within the header of a chunk.');
    let length = view.getUint32(at + 4, !0),
      chunkEnd = at + CHUNK_HEADER_BYTES + length;
    if (chunkEnd > end) return brokenPicture('A WebP chunk is longer than what holds it.');
    if (chunks.push({ type: textAt(bytes, at, 4), start: at, end: chunkEnd }) > MAX_CHUNKS2)
      return brokenPicture(`The WebP has more than ${MAX_CHUNKS2} chunks.`);
    at = chunkEnd + (length % 2);
  }
  return chunks;
}
function webpChunkData(bytes, chunk) {
  return bytes.subarray(chunk.start + CHUNK_HEADER_BYTES, chunk.end);
}
function readCanvas(bytes, chunk) {
  let data = webpChunkData(bytes, chunk);
  return data.length !== 10
    ? brokenPicture('The WebP extended header has a wrong length.')
    : { flags: data[0] ?? 0, width: read24(data, 4) + 1, height: read24(data, 7) + 1 };
}
function read24(data, at) {
  return (data[at] ?? 0) | ((data[at + 1] ?? 0) << 8) | ((data[at + 2] ?? 0) << 16);
}
function isImage(chunk) {
  return chunk.type === 'VP8 ' || chunk.type === 'VP8L';
}
function readImage(bytes, chunk) {
  let data = webpChunkData(bytes, chunk);
  switch (chunk.type) {
    case 'VP8 ':
      return readLossy(data);
    case 'VP8L':
      return readLossless(data);
    default:
      return brokenPicture('The WebP does not begin with a picture.');
  }
}
function readLossy(data) {
  let tag = read24(data, 0),
    isShownKeyFrame = (tag & 1) === 0 && ((tag >> 4) & 1) === 1 && ((tag >> 1) & 7) <= 3,
    hasStartCode = data[3] === 157 && data[4] === 1 && data[5] === 42;
  if (data.length <= 10 || !isShownKeyFrame || !hasStartCode)
    return brokenPicture('The WebP picture has a broken header.');
  if (10 + (tag >> 5) > data.length) return brokenPicture('The WebP picture was cut off in its first partition.');
  let view = viewOf(data);
  return { width: view.getUint16(6, !0) & 16383, height: view.getUint16(8, !0) & 16383 };
}
function readLossless(data) {
  if (data.length <= 5 || data[0] !== 47) return brokenPicture('The WebP picture has a broken header.');
  let bits = viewOf(data).getUint32(1, !0);
  return bits >>> 29
    ? refusePicture('image_unsupported', 'The WebP is of a version that is not taken.')
    : { width: (bits & 16383) + 1, height: ((bits >>> 14) & 16383) + 1 };
}
function refuseImage(bytes, chunks, size) {
  let [image, ...others] = chunks.filter(isImage);
  if (image === void 0 || others.length > 0)
    return brokenPicture('The WebP does not hold exactly one picture per frame.');
  let read = readImage(bytes, image);
  if ('kind' in read) return read;
  if (read.width !== size.width || read.height !== size.height)
    return brokenPicture('The WebP picture has other dimensions than its header says.');
}
function refuseAnimation(bytes, chunks, canvas) {
  let frames = chunks.filter((chunk) => chunk.type === 'ANMF');
  if (frames.length === 0 || !chunks.some((chunk) => chunk.type === 'ANIM'))
    return brokenPicture('The WebP declares an animation and has none.');
  for (let frame of frames) {
    let data = webpChunkData(bytes, frame);
    if (data.length < ANIMATION_FRAME_HEADER_BYTES) return brokenPicture('A WebP frame was cut off in its header.');
    let size = { width: read24(data, 6) + 1, height: read24(data, 9) + 1 };
    if (read24(data, 0) * 2 + size.width > canvas.width || read24(data, 3) * 2 + size.height > canvas.height)
      return brokenPicture('A WebP frame lies outside of the picture.');
    let inner = readWebpChunks(data, ANIMATION_FRAME_HEADER_BYTES, data.length);
    if ('kind' in inner) return inner;
    let refusal = refuseImage(data, inner, size);
    if (refusal !== void 0) return refusal;
  }
}
function orientationOf(bytes, chunks, canvas) {
  if ((canvas.flags & VP8X_EXIF) === 0) return;
  let exif = chunks.find((chunk) => chunk.type === 'EXIF');
  return exif === void 0 ? void 0 : readOrientation(webpChunkData(bytes, exif));
}
function inspectPicture(bytes, limits) {
  if (bytes.length === 0) return refusePicture('image_empty', 'The picture is empty.');
  if (bytes.length > limits.maxBytes)
    return refusePicture(
      'image_too_large',
      `The picture has ${bytes.length} bytes; at most ${limits.maxBytes} are taken.`,
    );
  let format = formatOf(bytes);
  if (format === void 0) return refuseFormat(bytes);
  let structure = walkPicture(bytes, format, limits.maxPixels);
  return structure.kind === 'refused'
    ? structure
    : {
        kind: 'picture',
        format,
        contentType: `image/${format}`,
        width: structure.width,
        height: structure.height,
        ...(structure.orientation === void 0 ? {} : { orientation: structure.orientation }),
        frames: structure.frames,
        trailingBytes: bytes.length - structure.end,
      };
}
var WALKS = { jpeg: walkJpeg, png: walkPng, webp: walkWebp };
function walkPicture(bytes, format, maxPixels) {
  return WALKS[format](bytes, maxPixels);
}
function formatOf(bytes) {
  if (hasTextAt(bytes, 0, '\xFF\xD8\xFF')) return 'jpeg';
  if (
    hasTextAt(
      bytes,
      0,
      `\x89PNG\r

`,
    )
  )
    return 'png';
  if (hasTextAt(bytes, 0, 'RIFF') && hasTextAt(bytes, 8, 'WEBP')) return 'webp';
}
var FORMATS_NOT_TAKEN = [
    ['GIF', 0, 'GIF8'],
    ['BMP', 0, 'BM'],
    ['TIFF', 0, 'II*\0'],
    ['TIFF', 0, 'MM\0*'],
    [
      'JPEG XL',
      0,
      `\xFF
`,
    ],
    ['JPEG XL', 4, 'JXL '],
    ['JPEG 2000', 4, 'jP  '],
    ['Photoshop', 0, '8BPS'],
  ],
  HEIC_BRANDS = ['heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'hevm', 'hevs', 'mif1', 'msf1'],
  AVIF_BRANDS = ['avif', 'avis'];
function refuseFormat(bytes) {
  let name = nameOfFormat(bytes);
  return name === void 0
    ? refusePicture('image_unrecognized', 'The bytes are no picture that is known. JPEG, PNG and WebP are taken.')
    : refusePicture('image_unsupported', `The picture is ${name}. JPEG, PNG and WebP are taken: convert it first.`);
}
function nameOfFormat(bytes) {
  return hasTextAt(bytes, 4, 'ftyp')
    ? nameOfBrands(bytes)
    : isSvg(textAt(bytes, 0, 1024))
      ? 'SVG'
      : FORMATS_NOT_TAKEN.find(([, at, signature]) => hasTextAt(bytes, at, signature))?.[0];
}
function isSvg(text) {
  return text.trimStart().startsWith('<') && text.includes('<svg') && !/<html/i.test(text);
}
function nameOfBrands(bytes) {
  let brands = [];
  for (let at = 8; at < 64; at += 4) brands.push(textAt(bytes, at, 4));
  if (brands.some((brand) => AVIF_BRANDS.includes(brand))) return 'AVIF';
  if (brands.some((brand) => HEIC_BRANDS.includes(brand))) return 'HEIC';
}
function nextTick(now) {
  return (Math.floor(now / 6e4) + 1) * 6e4;
}
var resultLimits = { maxBytes: 64 * 1024 * 1024, maxPixels: 2e8 };
async function copyResult(world, job, vendor, result, signal) {
  let fetched = await vendor.fetchResult(result, signal);
  if (fetched.kind !== 'fetched') return fetched;
  let seen = inspectPicture(fetched.bytes, resultLimits);
  if (seen.kind === 'refused') return { kind: 'lost', message: `The vendor's result is no picture: ${seen.detail}` };
  let key = resultKeyOf(job, 0);
  await world.files.put(key, fetched.bytes, seen.contentType);
  let { contentType, width, height } = seen;
  return { kind: 'copied', picture: { key, contentType, bytes: fetched.bytes.byteLength, width, height } };
}
function ending2(world) {
  let now = world.clock.now();
  return { finishedAt: now, ttl: Math.ceil((now + world.retentionMs) / 1e3), checkAt: now };
}
async function complete(world, job, picture) {
  let progress = { percent: 100, stage: void 0, at: world.clock.now() },
    moved = await world.jobs.move(
      move('complete', job, { ...ending2(world), results: [picture], progress: { ...progress } }),
    );
  return await afterUnbinding(world, job, 'complete', moved);
}
async function failAtVendor(world, job, failure) {
  let moved = await world.jobs.move(move('failAtVendor', job, { ...ending2(world), failure }));
  return await afterUnbinding(world, job, 'failAtVendor', moved);
}
async function cancelAtVendor(world, job) {
  let moved = await world.jobs.move(move('cancelAtVendor', job, ending2(world)));
  return await afterUnbinding(world, job, 'cancelAtVendor', moved);
}
async function refuse(world, job, failure) {
  let moved = await world.jobs.move(move('refuse', job, { ...ending2(world), failure }));
  return await afterUnbinding(world, job, 'refuse', moved);
}
async function spend(world, job, failure) {
  let moved = await world.jobs.move(move('spend', job, { ...ending2(world), failure }));
  return await afterUnbinding(world, job, 'spend', moved);
}
async function expire(world, job) {
  let failure = {
      code: 'expired_in_queue',
      message: 'It waited longer than this feature allows. Nothing was sent, and nothing was charged.',
    },
    moved = await world.jobs.move(move('expire', job, { ...ending2(world), failure }));
  return await afterUnbinding(world, job, 'expire', moved);
}
async function release(world, job, delayMs) {
  let moved = await world.jobs.move(move('release', job, { checkAt: job.queuedAt + job.maxQueueMs })),
    actual = moved.kind === 'refused' ? moved.actual : void 0;
  if (actual?.state === 'dispatching' && actual.attempt === job.attempt && actual.cancelRequestedAt !== void 0) {
    let canceled = await world.jobs.move(move('releaseCanceled', actual, ending2(world)));
    return await afterUnbinding(world, job, 'releaseCanceled', canceled);
  }
  return await afterUnbinding(world, job, 'release', moved, delayMs);
}
async function releaseProven(world, job) {
  if (job.cancelRequestedAt !== void 0) {
    let canceled = await world.jobs.move(move('releaseProvenCanceled', job, ending2(world)));
    return await afterUnbinding(world, job, 'releaseProvenCanceled', canceled);
  }
  let moved = await world.jobs.move(move('releaseProven', job, { checkAt: job.queuedAt + job.maxQueueMs }));
  return await afterUnbinding(world, job, 'releaseProven', moved);
}
async function flagUnknown(world, job, code) {
  let now = world.clock.now(),
    moved = await world.jobs.move(
      move('flagUnknown', job, { flag: { code, since: now }, maybeSent: !0, checkAt: nextTick(now) }),
    );
  return await afterFlag(world, moved);
}
async function flagLost(world, job, code) {
  let now = world.clock.now(),
    moved = await world.jobs.move(move('flagLost', job, { flag: { code, since: now }, checkAt: nextTick(now) }));
  return await afterFlag(world, moved);
}
async function afterFlag(world, moved) {
  if (moved.kind !== 'refused')
    return (
      world.notices.note({ kind: 'flagged', job: moved.job }),
      world.feed.send(moved.job.followers, { type: 'job', job: moved.job }),
      moved.job
    );
}
async function afterUnbinding(world, job, transition, moved, delayMs) {
  if (moved.kind === 'refused') {
    let stillBound = moved.actual?.hold?.token === job.hold?.token;
    job.hold !== void 0 && moved.actual !== void 0 && !stillBound && (await freeHold(world, job.lane, job.hold));
    return;
  }
  let settled2 = moved.job;
  return (
    world.notices.note({ kind: 'moved', job: settled2, transition }),
    (moved.unbound !== void 0 || settled2.state === 'queued') &&
      (await freeHold(world, settled2.lane, moved.unbound, delayMs)),
    world.feed.send(moved.followers, { type: 'job', job: settled2 }),
    await announce(world, settled2),
    settled2
  );
}
async function accept(world, job, vendorJobId, watchUntil) {
  let linked = await world.jobs.linkVendorJob(job.vendor, vendorJobId, job.id, job.generation);
  if (linked.kind === 'owned') return await conflict(world, job, vendorJobId, `${linked.jobId}.${linked.generation}`);
  let now = world.clock.now(),
    runUntil = now + job.maxRunMs,
    change = { vendorJobId, watchUntil, runUntil, startedAt: now, checkAt: Math.max(watchUntil, nextTick(now)) },
    moved = await world.jobs.move(move('accept', job, change));
  return moved.kind === 'moved' ? tell(world, moved.job) : await afterRefusal(world, job, vendorJobId, moved.actual);
}
function tell(world, job) {
  return (
    world.notices.note({ kind: 'moved', job, transition: 'accept' }),
    world.feed.send(job.followers, { type: 'job', job }),
    { kind: 'running', job }
  );
}
async function afterRefusal(world, job, vendorJobId, actual) {
  if (actual === void 0 || actual.generation !== job.generation) return { kind: 'moved_on', actual };
  if (actual.state === 'running' && actual.vendorJobId === vendorJobId) return { kind: 'running', job: actual };
  if (actual.vendorJobId !== void 0 && actual.vendorJobId !== vendorJobId)
    return await conflict(world, job, vendorJobId, `${actual.id} as ${actual.vendorJobId}`);
  if (actual.state !== 'needs_attention' || actual.hold !== void 0) return { kind: 'moved_on', actual };
  let noted = await world.jobs.move(move('note', actual, { vendorJobId, checkAt: nextTick(world.clock.now()) }));
  return noted.kind === 'moved' ? { kind: 'noted', job: noted.job } : { kind: 'moved_on', actual: noted.actual };
}
async function conflict(world, job, vendorJobId, ownedBy) {
  if (
    (await recordEvidence(world, job, 'vendor_job_conflict', { vendorJobId, ownedBy }),
    world.notices.note({ kind: 'vendor_job_conflict', job, vendorJobId, ownedBy }),
    job.state === 'dispatching')
  ) {
    let flagged = await flagUnknown(world, job, 'vendor_job_conflict');
    if (flagged !== void 0) return { kind: 'flagged', job: flagged };
  }
  let read = await world.jobs.read(job.id),
    actual = read?.kind === 'job' ? read.job : void 0;
  if (actual?.state === 'running' && actual.generation === job.generation && actual.vendorJobId !== vendorJobId) {
    let flagged = await flagLost(world, actual, 'vendor_job_conflict');
    if (flagged !== void 0) return { kind: 'flagged', job: flagged };
  }
  return { kind: 'moved_on', actual };
}
var backOffBaseMs = 2e3,
  backOffMostMs = 12e4;
function backOffMs(tries) {
  return Math.min(backOffMostMs, backOffBaseMs * 2 ** Math.max(0, tries - 1));
}
function afterSend(job, outcome, traits, now) {
  switch (outcome.kind) {
    case 'accepted':
      return { do: 'accept', vendorJobId: outcome.vendorJobId };
    case 'finished':
      return { do: 'finish', vendorJobId: outcome.vendorJobId, result: outcome.result };
    case 'refused':
      return isOnlySend(job)
        ? { do: 'refuse', failure: { code: 'refused_by_vendor', message: outcome.message } }
        : { do: 'flag', code: 'unknown_send' };
    case 'account-refused':
      return notTaken(job, traits, now, backOffMs(job.tries), outcome.message);
    case 'throttled':
      return notTaken(job, traits, now, outcome.retryAfterMs ?? backOffMs(job.tries), void 0);
    case 'not-sent':
      return notTaken(job, traits, now, backOffMs(job.tries), void 0);
    case 'unknown':
      return afterUnknown(job, traits, now);
    default:
      return outcome;
  }
}
function afterUnknown(job, traits, now) {
  switch (traits.dedupe) {
    case 'replay':
      return mayRetake(job, traits, now) ? { do: 'retake' } : { do: 'flag', code: 'unknown_send' };
    case 'reject':
    case 'lookup':
      return { do: 'look_up' };
    case 'inflight':
    case 'none':
      return { do: 'flag', code: 'unknown_send' };
    default:
      return traits.dedupe;
  }
}
function mayRetake(job, traits, now) {
  return canReplay(job, traits, now) && (isOrdered(job) || !isSpent(job, traits, now));
}
function canReplay(job, traits, now) {
  return traits.dedupe !== 'replay' || job.cancelRequestedAt !== void 0
    ? !1
    : now - (job.firstTriedAt ?? now) + 1e4 + traits.sendTimeoutMs + 5e3 < traits.dedupeMs;
}
function isOrdered(job) {
  return job.sendBy !== void 0 && job.sendBy === job.dispatchBy;
}
function isSpent(job, traits, now) {
  return job.tries >= traits.maxSends || now - (job.firstTriedAt ?? now) >= traits.sendWindowMs;
}
function cantBeRunningFrom(job, traits) {
  return traits.maxLifeMs === void 0 ? void 0 : latestSendOf(job) + traits.sendTimeoutMs + traits.maxLifeMs + 5e3;
}
function latestSendOf(job) {
  let known = job.sendBy ?? job.startedAt ?? job.createdAt;
  return job.flag?.code === 'restored' ? Math.max(known, job.flag.since) : known;
}
function quarantineEnd(job, traits) {
  return latestSendOf(job) + traits.sendTimeoutMs + traits.listingLagMs + 5e3;
}
function isOnlySend(job) {
  return job.sends === 1 && !job.maybeSent;
}
function notTaken(job, traits, now, delayMs, trip) {
  let spent2 = trip === void 0 && isSpent(job, traits, now);
  return job.maybeSent
    ? spent2
      ? { do: 'flag', code: 'unknown_send' }
      : { do: 'keep', delayMs, trip }
    : spent2
      ? {
          do: 'spend',
          failure: {
            code: 'sends_spent',
            message: 'The picture service was not able to take this job. Nothing was charged.',
          },
        }
      : { do: 'release', delayMs, trip };
}
function freeUnits(lane) {
  return Math.max(0, lane.cap - Object.keys(lane.held).length);
}
function hasRoom(lane, now) {
  return lane.state !== 'paused' && lane.notBefore <= now && freeUnits(lane) > 0;
}
function closedMsUntil(lane, now) {
  return lane.closedMs + (lane.state === 'open' ? 0 : Math.max(0, now - lane.since));
}
async function lookUp(world, vendor, job, signal) {
  let askedAt = world.clock.now(),
    bounded = AbortSignal.any([signal, world.waiting.deadline(1e4)]),
    found = await vendor.find?.(vendorKeyOf(job), bounded);
  if (found?.kind === 'found') {
    let accepted = await accept(world, job, found.vendorJobId, world.clock.now());
    return (
      accepted.kind === 'running' && (await world.doorbell.ring(job.lane, job.id)), { kind: 'accepted', accepted }
    );
  }
  let parked = await park(world, job);
  if (parked === void 0) return { kind: 'unchanged' };
  if (
    found?.kind !== 'absent' ||
    !(vendor.traits.absence === 'proof' && askedAt >= quarantineEnd(parked, vendor.traits))
  )
    return sameOrFlagged(job, parked);
  await recordEvidence(world, parked, 'proven_absent', { askedAt });
  let released = await releaseProven(world, parked);
  return released === void 0 ? { kind: 'unchanged' } : { kind: 'released', job: released };
}
async function park(world, job) {
  return job.state === 'needs_attention' ? job : await flagUnknown(world, job, 'unknown_send');
}
function sameOrFlagged(job, parked) {
  return job.state === 'needs_attention' ? { kind: 'unchanged' } : { kind: 'flagged', job: parked };
}
function sendTimes(now, sendTimeoutMs) {
  let sendBy = now + 1e4;
  return { sendBy, dispatchBy: sendBy + sendTimeoutMs + 5e3 };
}
async function sendJob(world, vendor, job, shift, stay) {
  let submission;
  try {
    submission = await loadSubmission(world, job, shift);
  } catch (error) {
    throw (
      await follow(
        world,
        vendor,
        job,
        afterSend(
          job,
          { kind: 'not-sent', cause: 'input_unavailable', message: 'Its input could not be read.' },
          vendor.traits,
          world.clock.now(),
        ),
        shift,
        stay.since,
      ),
      error
    );
  }
  if (submission === void 0) {
    await settleUnsendable(world, job, {
      code: 'input_lost',
      message: 'The picture of this job is no longer stored. Nothing was sent.',
    });
    return;
  }
  let outcome = await submitOnce(world, vendor, job, submission);
  (await noteOutcome(world, job, outcome),
    stay.probing &&
      outcome.kind !== 'account-refused' &&
      outcome.kind !== 'not-sent' &&
      (await reopen(world, job, stay.since)));
  let next = afterSend(job, outcome, vendor.traits, world.clock.now());
  return await follow(world, vendor, job, next, shift, stay.since);
}
async function settleUnsendable(world, job, failure) {
  job.maybeSent ? await flagUnknown(world, job, 'unknown_send') : await spend(world, job, failure);
}
async function loadSubmission(world, job, shift) {
  let [request, picture, callbackUrl] = await Promise.all([
    world.jobs.readRequest(job.id, job.submitToken),
    job.picture === void 0 ? void 0 : world.files.get(inputKeyOf(job)),
    world.callbackUrl(job),
  ]);
  if (!(request === void 0 || (job.picture !== void 0 && picture === void 0)))
    return {
      vendorKey: vendorKeyOf(job),
      feature: job.feature,
      parameters: request.parameters,
      picture,
      callbackUrl,
      sendBy: job.sendBy,
      signal: shift.signal,
    };
}
async function submitOnce(world, vendor, job, submission) {
  let outcome = await vendor.submit(submission);
  return outcome.kind !== 'account-refused' || !(await vendor.refreshSecret()) || world.clock.now() >= job.sendBy
    ? outcome
    : await vendor.submit(submission);
}
async function noteOutcome(world, job, outcome) {
  let cause = 'cause' in outcome ? outcome.cause : void 0;
  switch ((world.notices.note({ kind: 'sent', job, outcome: outcome.kind, cause }), outcome.kind)) {
    case 'unknown': {
      let { message, bodySent, keyReused } = outcome,
        sent = { sendBy: job.sendBy, sends: job.sends, feature: job.feature };
      await recordEvidence(world, job, 'send_unknown', { cause: outcome.cause, message, bodySent, keyReused, ...sent });
      return;
    }
    case 'refused':
    case 'account-refused':
      job.maybeSent &&
        (await recordEvidence(world, job, 'send_refused', { status: outcome.status, message: outcome.message }));
      return;
    case 'throttled':
    case 'not-sent':
      job.maybeSent && (await recordEvidence(world, job, 'send_not_taken', { message: outcome.message }));
      return;
    case 'accepted':
    case 'finished':
      return;
    default:
  }
}
async function reopen(world, job, since) {
  let at = world.clock.now();
  (
    await world.lanes.change(job.lane, since, {
      state: 'open',
      by: 'probe',
      reason: 'The probe was answered: the account is well again.',
      at,
    })
  ).kind === 'changed' && world.notices.note({ kind: 'lane_reopened', lane: job.lane });
}
async function follow(world, vendor, job, next, shift, since) {
  switch (next.do) {
    case 'accept':
      return await takeReceipt(world, job, next.vendorJobId);
    case 'finish':
      return await finish2(world, vendor, job, next, shift);
    case 'refuse':
      await refuseOrFlag(world, job, next.failure);
      return;
    case 'spend':
      await spend(world, job, next.failure);
      return;
    case 'release':
      (await tripLane(world, job, next.trip, since),
        await backOff(world, job, next.delayMs, next.trip),
        await releaseOwn(world, job, next.delayMs));
      return;
    case 'keep':
      (await tripLane(world, job, next.trip, since),
        await backOff(world, job, next.delayMs, next.trip),
        await world.doorbell.ring(job.lane, job.id, Math.max(next.delayMs, job.dispatchBy - world.clock.now())));
      return;
    case 'retake':
      return await retakeSoon(world, vendor, job, shift);
    case 'look_up':
      await lookUp(world, vendor, job, shift.signal);
      return;
    case 'flag':
      await flagUnknown(world, job, next.code);
      return;
    default:
      return next;
  }
}
async function takeReceipt(world, job, vendorJobId) {
  let accepted = await accept(world, job, vendorJobId, world.clock.now() + 45e3);
  if (!(accepted.kind !== 'running' || accepted.job.attempt !== job.attempt)) return accepted.job;
}
async function finish2(world, vendor, job, next, shift) {
  if (
    next.vendorJobId !== void 0 &&
    (await world.jobs.linkVendorJob(job.vendor, next.vendorJobId, job.id, job.generation)).kind === 'owned'
  ) {
    await accept(world, job, next.vendorJobId, world.clock.now());
    return;
  }
  let copied = await copyResult(world, job, vendor, next.result, shift.signal);
  if (copied.kind === 'copied') {
    await complete(world, job, copied.picture);
    return;
  }
  if (
    (await recordEvidence(world, job, 'result_lost', { message: copied.message }),
    copied.kind === 'unreachable' && next.vendorJobId !== void 0)
  )
    return await takeReceipt(world, job, next.vendorJobId);
  await flagUnknown(world, job, 'result_lost');
}
async function refuseOrFlag(world, job, failure) {
  if ((await refuse(world, job, failure)) !== void 0) return;
  let read = await world.jobs.read(job.id),
    actual = read?.kind === 'job' ? read.job : void 0;
  actual?.state === 'needs_attention' && actual.attempt === job.attempt && (await refuse(world, actual, failure));
}
async function releaseOwn(world, job, delayMs) {
  if ((await release(world, job, delayMs)) !== void 0) return;
  let read = await world.jobs.read(job.id),
    actual = read?.kind === 'job' ? read.job : void 0;
  actual?.state === 'needs_attention' &&
    actual.attempt === job.attempt &&
    actual.sends === 1 &&
    actual.vendorJobId === void 0 &&
    (await releaseProven(world, actual));
}
async function tripLane(world, job, reason, since) {
  if (reason === void 0) return;
  let at = world.clock.now();
  (await world.lanes.trip(job.lane, since, { reason, by: `vendor ${job.vendor}`, at })) === 'tripped' &&
    world.notices.note({ kind: 'lane_tripped', lane: job.lane, reason });
}
async function backOff(world, job, delayMs, trip) {
  trip === void 0 && (await world.lanes.backOff(job.lane, world.clock.now() + delayMs));
}
async function retake(world, vendor, job, shift) {
  let lane = await world.lanes.read(job.lane),
    now = world.clock.now();
  if (lane.state === 'paused' || lane.notBefore > now || lane.held[job.hold.token] === void 0) {
    lane.held[job.hold.token] === void 0 && world.notices.note({ kind: 'hold_missing', job });
    return;
  }
  if (!canReplay(job, vendor.traits, now)) return;
  let probing = lane.state === 'tripped';
  probing && (await world.lanes.backOff(job.lane, now + 6e4));
  let change = {
      claimToken: world.tokens.next(),
      ...sendTimes(now, vendor.traits.sendTimeoutMs),
      sends: job.sends + 1,
      tries: job.tries + 1,
      maybeSent: !0,
    },
    moved = await world.jobs.move(move('retake', job, { ...change, checkAt: nextTick(change.dispatchBy) }));
  if (moved.kind === 'refused') {
    let actual = moved.actual;
    actual?.state === 'dispatching' &&
      actual.attempt === job.attempt &&
      actual.cancelRequestedAt !== void 0 &&
      (await flagUnknown(world, actual, 'unknown_send'));
    return;
  }
  return await sendJob(world, vendor, moved.job, shift, { probing, since: lane.since });
}
async function retakeSoon(world, vendor, job, shift) {
  if (job.sends === 1) return await retake(world, vendor, job, shift);
  await world.doorbell.ring(job.lane, job.id, Math.max(backOffMs(job.tries), job.dispatchBy - world.clock.now()));
}
async function settleLostSend(world, vendor, job, shift, by) {
  let next = afterUnknown(job, vendor.traits, world.clock.now());
  if (next.do === 'retake') {
    if (by === 'worker') return await retake(world, vendor, job, shift);
    await world.doorbell.ring(job.lane, job.id);
    return;
  }
  await recordEvidence(world, job, 'worker_lost', { sendBy: job.sendBy, dispatchBy: job.dispatchBy, sends: job.sends });
  let flagged = next.do === 'flag' ? { do: 'flag', code: 'worker_lost' } : next;
  return await follow(world, vendor, job, flagged, shift, 0);
}
async function applyWord(world, job, vendor, word, signal) {
  switch (word.kind) {
    case 'pending':
      return { kind: 'pending' };
    case 'unreachable':
      return { kind: 'unreachable', message: word.message };
    case 'succeeded':
      return await takeResult(world, job, vendor, word, signal);
    case 'failed': {
      let failure = { code: 'failed_at_vendor', message: word.message };
      return settled(await failAtVendor(world, job, failure));
    }
    case 'canceled':
      return settled(await cancelAtVendor(world, job));
    case 'gone':
      return await lost(world, job, 'vendor_lost_job', {});
    default:
      return word;
  }
}
function settled(job) {
  return job === void 0 ? { kind: 'moved_on' } : { kind: 'settled', job };
}
async function takeResult(world, job, vendor, word, signal) {
  let copied = await copyResult(world, job, vendor, word.result, signal);
  switch (copied.kind) {
    case 'copied':
      return settled(await complete(world, job, copied.picture));
    case 'unreachable':
      return { kind: 'unreachable', message: copied.message };
    case 'lost':
      return await lost(world, job, 'result_lost', { message: copied.message });
    default:
      return copied;
  }
}
async function lost(world, job, code, detail) {
  if (job.state !== 'running') return { kind: 'pending' };
  await recordEvidence(world, job, code, { vendorJobId: job.vendorJobId, ...detail });
  let flagged = await flagLost(world, job, code);
  return flagged === void 0 ? { kind: 'moved_on' } : { kind: 'flagged', job: flagged };
}
var untouched = { stored: void 0, sent: void 0 };
function advanceProgress(shown, tick, now) {
  let said = tick.percent === void 0 || Number.isNaN(tick.percent) ? 0 : tick.percent,
    percent = Math.max(shown?.percent ?? 0, Math.min(99, Math.max(0, Math.floor(said)))),
    stage = tick.stage?.slice(0, 24) ?? shown?.stage;
  return { percent, stage, at: now };
}
function throttle(state, progress) {
  let store = isDue(state.stored, progress, 1e3),
    send = isDue(state.sent, progress, 250);
  return { store, send, next: { stored: store ? progress : state.stored, sent: send ? progress : state.sent } };
}
function isDue(last, progress, everyMs) {
  return last === void 0
    ? !0
    : (last.percent !== progress.percent || last.stage !== progress.stage) && progress.at - last.at >= everyMs;
}
var Watch = class {
  #world;
  #vendor;
  #job;
  #throttle;
  #extendedAt;
  #cancelAsked = !1;
  #newest;
  constructor(world, vendor, job) {
    ((this.#world = world),
      (this.#vendor = vendor),
      (this.#job = job),
      (this.#throttle = { ...untouched, stored: job.progress }),
      (this.#extendedAt = world.clock.now()));
  }
  async until(shift) {
    let stop = new AbortController(),
      signal = AbortSignal.any([shift.signal, stop.signal]),
      words = this.#vendor.watch(this.#job.vendorJobId, signal)[Symbol.asyncIterator]();
    try {
      await this.#cancelIfAsked(signal);
      let word;
      for (;;) {
        word ??= words.next();
        let next = await this.#nextOrPulse(word, signal),
          left = next === 'pulse' ? await this.#tickAgain() : await this.#takeNext(next, signal);
        if (left !== void 0) return left;
        if ((next !== 'pulse' && (word = void 0), this.#isOver(shift))) return await this.#handOver();
        if (!(await this.#keepLease(signal))) return { kind: 'left' };
      }
    } finally {
      (stop.abort(), await words.return?.());
    }
  }
  async #nextOrPulse(word, signal) {
    let pulse = new AbortController(),
      rested = this.#world.waiting.wait(15e3 / 3, AbortSignal.any([signal, pulse.signal])),
      first = await Promise.race([word, rested.then(() => 'pulse')]);
    return (pulse.abort(), first);
  }
  #isOver(shift) {
    return shift.signal.aborted || shift.endsAt - this.#world.clock.now() < 2e4;
  }
  async #takeNext(next, signal) {
    return next.done === !0 ? await this.#handOver() : await this.#take(next.value, signal);
  }
  async #take(word, signal) {
    if (word.kind === 'pending') return ((this.#newest = word), await this.#tickAgain());
    let applied = await applyWord(this.#world, this.#job, this.#vendor, word, signal);
    switch (applied.kind) {
      case 'settled':
        return { kind: 'settled' };
      case 'flagged':
        return { kind: 'left' };
      case 'moved_on':
        return { kind: 'left' };
      case 'pending':
        return;
      case 'unreachable':
        return word.kind === 'succeeded' ? await this.#handOver() : void 0;
      default:
        return applied;
    }
  }
  async #tickAgain() {
    if (this.#newest !== void 0) return (await this.#tick(this.#newest)) ? void 0 : { kind: 'left' };
  }
  async #tick(said) {
    let now = this.#world.clock.now(),
      shown = this.#throttle.sent ?? this.#throttle.stored,
      progress = advanceProgress(shown, said, now),
      { store, send, next } = throttle(this.#throttle, progress);
    if (((this.#throttle = next), store && !(await this.#store(progress)))) return !1;
    if (send) {
      let { id, version, followers } = this.#job;
      this.#world.feed.send(followers, { type: 'progress', jobId: id, progress, version });
    }
    return !0;
  }
  async #store(progress) {
    let now = this.#world.clock.now(),
      watchUntil = Math.min(now + 45e3, Math.max(this.#job.runUntil, now)),
      moved = await this.#world.jobs.move(move('progress', this.#job, { progress, watchUntil }));
    return moved.kind === 'refused'
      ? !1
      : ((this.#job = moved.job),
        (this.#extendedAt = now),
        (this.#throttle = { ...this.#throttle, stored: { ...progress, at: this.#world.clock.now() } }),
        !0);
  }
  async #keepLease(signal) {
    let now = this.#world.clock.now();
    if (now - this.#extendedAt >= 15e3) {
      let progress = this.#throttle.sent ?? this.#throttle.stored ?? { percent: 0, stage: void 0, at: now };
      if (!(await this.#store(progress))) return !1;
    }
    return (await this.#cancelIfAsked(signal), !0);
  }
  async #cancelIfAsked(signal) {
    if (this.#job.cancelRequestedAt === void 0 || this.#cancelAsked) return;
    let bounded = AbortSignal.any([signal, this.#world.waiting.deadline(1e4)]),
      asked = await this.#vendor.cancel(this.#job.vendorJobId, bounded);
    this.#cancelAsked = asked !== 'unreachable';
  }
  async #handOver() {
    let now = this.#world.clock.now();
    return (await this.#world.jobs.move(move('surrender', this.#job, { watchUntil: now, checkAt: nextTick(now) })))
      .kind === 'refused'
      ? { kind: 'left' }
      : (await this.#world.doorbell.ring(this.#job.lane, this.#job.id, 1e3), { kind: 'handed_over' });
  }
};
async function watchJob(world, vendor, job, shift) {
  return await new Watch(world, vendor, job).until(shift);
}
async function attach(world, job) {
  let now = world.clock.now(),
    moved = await world.jobs.move(move('attach', job, { watchUntil: now + 45e3, checkAt: now + 45e3 }));
  return moved.kind === 'moved' ? moved.job : void 0;
}
var picksPerRing = 10,
  candidatesPerPick = 25,
  candidatesBehind = 250;
async function dispatchJob(world, ring, shift) {
  try {
    let hinted2 = await readJob(world, ring.hint);
    if (hinted2 !== void 0 && hinted2.lane === ring.lane && (await serveHint(world, hinted2, shift))) return;
    await pick(world, ring, shift);
  } finally {
    await world.feed.flush();
  }
}
async function readJob(world, id) {
  if (id === void 0) return;
  let read = await world.jobs.read(id);
  return read?.kind === 'job' ? read.job : void 0;
}
async function serveHint(world, job, shift) {
  let now = world.clock.now(),
    vendor = world.vendors.named(job.vendor);
  return vendor === void 0
    ? !1
    : job.state === 'dispatching' && now > job.dispatchBy
      ? await watchSent(world, vendor, await settleLostSend(world, vendor, job, shift, 'worker'), shift)
      : job.state !== 'running'
        ? !1
        : (job.watchUntil ?? 0) <= now
          ? await watchSent(world, vendor, await attach(world, job), shift)
          : (job.cancelRequestedAt !== void 0 &&
              (await vendor.cancel(job.vendorJobId, AbortSignal.any([shift.signal, world.waiting.deadline(1e4)]))),
            !1);
}
async function watchSent(world, vendor, sent, shift) {
  return sent === void 0 ? !1 : (await watchJob(world, vendor, sent, shift), !0);
}
async function pick(world, ring, shift) {
  for (let picks = 0; picks < picksPerRing; picks += 1) {
    let job = await firstQueued(world, ring);
    if (job === void 0 || (await take(world, job, shift)) !== 'again') return;
  }
  await world.doorbell.ring(ring.lane, ring.hint);
}
async function firstQueued(world, ring) {
  let first = await world.index.queued(ring.lane, candidatesPerPick),
    ready = await firstReady(world, ring, first);
  if (ready !== void 0 || first.length < candidatesPerPick)
    return ready ?? (await firstReady(world, ring, hinted(ring)));
  let behind = await world.index.queued(ring.lane, candidatesBehind);
  return await firstReady(world, ring, [...behind.slice(first.length), ...hinted(ring)]);
}
function hinted({ hint }) {
  return hint === void 0 ? [] : [hint];
}
async function firstReady(world, ring, ids) {
  for (let id of ids) {
    let job = await readJob(world, id);
    if (
      job?.state === 'queued' &&
      job.lane === ring.lane &&
      job.cancelRequestedAt === void 0 &&
      world.vendors.named(job.vendor) !== void 0
    )
      return job;
  }
}
async function take(world, job, shift) {
  let vendor = world.vendors.named(job.vendor);
  if (vendor === void 0) return 'done';
  let token = world.tokens.next(),
    acquiredAt = world.clock.now(),
    unit = { jobId: job.id, attempt: job.attempt + 1, acquiredAt },
    held = await world.lanes.hold(job.lane, token, unit, job.rank);
  switch (held.kind) {
    case 'held': {
      let claimed = await claim(world, vendor, job, token);
      if (claimed === void 0) return 'again';
      let sent = await sendJob(world, vendor, claimed, shift, held);
      return (await watchSent(world, vendor, sent, shift), 'done');
    }
    case 'not_yet': {
      let waitMs = held.notBefore - acquiredAt;
      return (waitMs <= 15e3 && (await world.doorbell.ring(job.lane, void 0, waitMs)), 'done');
    }
    case 'full':
    case 'closed':
      return 'done';
    default:
      return held;
  }
}
async function claim(world, vendor, job, token) {
  let now = world.clock.now(),
    times = sendTimes(now, vendor.traits.sendTimeoutMs),
    moved = await world.jobs.move(
      move('claim', job, {
        hold: { token },
        claimToken: world.tokens.next(),
        ...times,
        sends: 1,
        tries: job.tries + 1,
        firstTriedAt: now,
        startedAt: now,
        checkAt: nextTick(times.dispatchBy),
      }),
    );
  if (moved.kind === 'moved')
    return (
      world.notices.note({ kind: 'claimed', job: moved.job }),
      world.feed.send(moved.job.followers, { type: 'job', job: moved.job }),
      moved.job
    );
  moved.actual?.hold?.token !== token && (await freeHold(world, job.lane, { token }));
}
function isLastWord(word) {
  return word?.kind === 'succeeded' || word?.kind === 'failed' || word?.kind === 'canceled';
}
var copyTimeoutMs = 25e3;
async function tendJob(world, tick, due) {
  let [announced] = await Promise.allSettled([announce(world, due)]);
  if (announced.status === 'fulfilled') return await tendAnnounced(world, tick, { ...due, announce: void 0 });
  throw (await tendAnnounced(world, tick, due), announced.reason);
}
async function tendAnnounced(world, tick, job) {
  switch (job.state) {
    case 'queued':
      return await tendQueued(world, tick, job);
    case 'dispatching':
      return await tendDispatching(world, tick, job);
    case 'running':
      return await tendRunning(world, tick, job);
    case 'needs_attention':
      return await tendFlagged(world, tick, job);
    case 'failed':
      return await tendFailed(world, tick, job);
    case 'succeeded':
    case 'canceled':
      return;
    default:
      return job;
  }
}
async function lookAgain(world, job, checkAt) {
  await world.jobs.move(move('look', job, { checkAt }));
}
async function tendQueued(world, tick, job) {
  let now = world.clock.now(),
    lane = tick.laneOf(job.lane),
    closedMs = lane === void 0 ? 0 : Math.max(0, closedMsUntil(lane, now) - job.laneClosedMs),
    leftMs = job.maxQueueMs - (now - job.queuedAt - closedMs);
  leftMs <= 0 ? await expire(world, job) : await lookAgain(world, job, now + leftMs);
}
async function tendDispatching(world, tick, job) {
  let now = world.clock.now();
  if ((await checkHold(world, tick, job), now <= job.dispatchBy))
    return await lookAgain(world, job, nextTick(job.dispatchBy));
  let vendor = world.vendors.named(job.vendor);
  if (vendor === void 0) return await withoutVendor(world, job);
  await tick.pace.run(job.vendor, async () => await settleLostSend(world, vendor, job, tick.shift, 'reconciler'));
  let parked = await reread(world, job);
  if (parked?.state === 'needs_attention') return await freeIfOver(world, vendor, parked);
  parked !== void 0 && parked.version === job.version && (await lookAgain(world, job, nextTick(now)));
}
async function tendRunning(world, tick, job) {
  let now = world.clock.now();
  if ((await checkHold(world, tick, job), (job.watchUntil ?? 0) > now))
    return await lookAgain(world, job, job.watchUntil ?? now);
  let vendor = world.vendors.named(job.vendor);
  if (vendor === void 0) return await withoutVendor(world, job);
  let applied = await ask(world, tick, vendor, job, job.vendorJobId);
  if (applied !== void 0)
    switch (applied.kind) {
      case 'settled':
      case 'moved_on':
        return;
      case 'flagged':
        return await freeIfOver(world, vendor, applied.job);
      case 'pending':
      case 'unreachable':
        return await stillRunning(world, vendor, job, applied);
      default:
        return applied;
    }
}
async function stillRunning(world, vendor, job, applied) {
  let now = world.clock.now();
  if (now >= job.runUntil) {
    let said = applied.kind === 'unreachable' ? applied.message : 'still working';
    await recordEvidence(world, job, 'overdue', { vendorJobId: job.vendorJobId, runUntil: job.runUntil, said });
    let flagged = await flagLost(world, job, 'overdue');
    flagged !== void 0 && (await freeIfOver(world, vendor, flagged));
    return;
  }
  (await lookAgain(world, job, nextTick(now)), await world.doorbell.ring(job.lane, job.id));
}
async function tendFlagged(world, tick, job) {
  let vendor = world.vendors.named(job.vendor);
  if (vendor === void 0) return await withoutVendor(world, job);
  let applied =
      job.vendorJobId === void 0
        ? await find(world, tick, vendor, job)
        : await askFlagged(world, tick, vendor, job, job.vendorJobId),
    now = await reread(world, job);
  if (now?.state === 'needs_attention') {
    if (applied?.hasEnded === !0 && now.hold !== void 0) return await unbindAndFree(world, now);
    await freeIfOver(world, vendor, now);
  }
}
var personsOwn = new Set(['vendor_job_conflict', 'result_lost']);
async function find(world, tick, vendor, job) {
  vendor.find === void 0 ||
    personsOwn.has(job.flag.code) ||
    (await tick.pace.run(job.vendor, async () => await lookUp(world, vendor, job, tick.shift.signal)));
}
async function askFlagged(world, tick, vendor, job, vendorJobId) {
  let applied = await ask(world, tick, vendor, job, vendorJobId);
  if (applied?.isWorking !== !0) return applied;
  if (job.hold === void 0) return (world.notices.note({ kind: 'running_without_hold', job }), applied);
  let isOverdue = world.clock.now() >= (job.runUntil ?? Number.POSITIVE_INFINITY);
  return (
    personsOwn.has(job.flag.code) ||
      isOverdue ||
      ((await accept(world, job, vendorJobId, world.clock.now())).kind === 'running' &&
        (await world.doorbell.ring(job.lane, job.id))),
    applied
  );
}
async function tendFailed(world, tick, job) {
  if (job.hold === void 0) return;
  let vendor = world.vendors.named(job.vendor);
  if (vendor === void 0) return await withoutVendor(world, job);
  let id = job.vendorJobId,
    word = id === void 0 ? void 0 : await tick.pace.run(job.vendor, () => vendor.ask(id, askSignal(world, tick, 1e4)));
  isLastWord(word) ? await unbindAndFree(world, job) : await freeIfOver(world, vendor, job);
}
async function ask(world, tick, vendor, job, vendorJobId) {
  return await tick.pace.run(job.vendor, async () => {
    job.cancelRequestedAt !== void 0 && (await vendor.cancel(vendorJobId, askSignal(world, tick, 1e4)));
    let word = await vendor.ask(vendorJobId, askSignal(world, tick, 1e4));
    return {
      ...(await applyWord(world, job, vendor, word, askSignal(world, tick, copyTimeoutMs))),
      isWorking: word.kind === 'pending',
      hasEnded: isLastWord(word),
    };
  });
}
function askSignal(world, tick, timeoutMs) {
  return AbortSignal.any([tick.shift.signal, world.waiting.deadline(timeoutMs)]);
}
async function freeIfOver(world, vendor, job) {
  let now = world.clock.now(),
    from = cantBeRunningFrom(job, vendor.traits);
  if (job.hold !== void 0 && from !== void 0 && now >= from) return await unbindAndFree(world, job);
  await lookAgain(world, job, nextTick(now));
}
async function unbindAndFree(world, job) {
  let moved = await world.jobs.move(move('unbind', job, { checkAt: nextTick(world.clock.now()) }));
  moved.kind === 'moved' && (await freeHold(world, job.lane, moved.unbound));
}
async function withoutVendor(world, job) {
  world.notices.note({ kind: 'vendor_not_configured', job });
  let now = world.clock.now(),
    detail = { vendor: job.vendor, said: 'The vendor is not configured in this deployment.' };
  job.state === 'dispatching'
    ? (await recordEvidence(world, job, 'worker_lost', { ...detail, sendBy: job.sendBy, sends: job.sends }),
      await flagUnknown(world, job, 'worker_lost'))
    : job.state === 'running' && now >= job.runUntil
      ? (await recordEvidence(world, job, 'overdue', {
          ...detail,
          vendorJobId: job.vendorJobId,
          runUntil: job.runUntil,
        }),
        await flagLost(world, job, 'overdue'))
      : await lookAgain(world, job, nextTick(now));
}
async function reread(world, job) {
  let read = await world.jobs.read(job.id);
  return read?.kind === 'job' ? read.job : void 0;
}
async function checkHold(world, tick, job) {
  if (
    tick.laneOf(job.lane)?.held[job.hold.token] !== void 0 ||
    (await world.lanes.read(job.lane)).held[job.hold.token] !== void 0
  )
    return;
  let again = await reread(world, job);
  again !== void 0 && again.version === job.version && world.notices.note({ kind: 'hold_missing', job });
}
async function sweepLane(world, lane) {
  let now = world.clock.now(),
    old = Object.entries(lane.held).filter(([, unit]) => now - unit.acquiredAt >= 3e4),
    swept = 0;
  for (let [token, unit] of old)
    (await isFree(world, token, unit)) &&
      (await world.lanes.free(lane.lane, token),
      world.notices.note({ kind: 'swept', lane: lane.lane, jobId: unit.jobId }),
      (swept += 1));
  return (swept > 0 && (await world.doorbell.ring(lane.lane, void 0)), swept);
}
async function isFree(world, token, unit) {
  let read = await world.jobs.read(unit.jobId);
  if (read?.kind !== 'job') return !0;
  let job = read.job;
  return job.hold?.token === token
    ? !1
    : isTerminal(job.state) || job.attempt >= unit.attempt || job.state !== 'queued'
      ? !0
      : (await world.jobs.move(move('fence', job, {}))).kind === 'moved';
}
var mostRings = 100;
async function tendLane(world, name) {
  let before = await world.lanes.read(name),
    swept = await sweepLane(world, before),
    lane = swept > 0 ? await world.lanes.read(name) : before,
    queued = await world.index.countQueued(name);
  return (
    world.notices.note({ kind: 'lane_seen', lane, queued }),
    queued > 0 && hasRoom(lane, world.clock.now()) && (await ringFor(world, lane)),
    { lane, queued, swept }
  );
}
async function ringFor(world, lane) {
  let room = lane.state === 'tripped' ? 1 : Math.min(mostRings, freeUnits(lane));
  if (room === 0) return 0;
  let ids = await world.index.queued(lane.lane, room);
  for (let id of ids) await world.doorbell.ring(lane.lane, id);
  return ids.length;
}
var usualBudget = { concurrency: 32, perSecond: 50 },
  VendorPace = class {
    #lines = new Map();
    #clock;
    #waiting;
    #budgets;
    #until;
    #signal;
    constructor(clock, waiting, budgets, until, signal) {
      ((this.#clock = clock),
        (this.#waiting = waiting),
        (this.#budgets = budgets),
        (this.#until = until),
        (this.#signal = signal));
    }
    async run(vendor, ask2) {
      let line = this.#lineOf(vendor);
      line.running >= line.budget.concurrency
        ? await new Promise((resolve) => line.waiting.push(resolve))
        : (line.running += 1);
      try {
        return (await this.#turn(line)) ? await ask2() : void 0;
      } finally {
        let next = line.waiting.shift();
        next === void 0 ? (line.running -= 1) : next();
      }
    }
    async #turn(line) {
      let now = this.#clock.now(),
        at = Math.max(now, line.nextAt);
      return at >= line.until || this.#signal.aborted
        ? !1
        : ((line.nextAt = at + 1e3 / line.budget.perSecond),
          at > now && (await this.#waiting.wait(at - now, this.#signal)),
          !this.#signal.aborted && this.#clock.now() < line.until);
    }
    #lineOf(vendor) {
      let known = this.#lines.get(vendor);
      if (known !== void 0) return known;
      let budget = this.#budgets.get(vendor) ?? usualBudget,
        ownUntil = this.#clock.now() + (budget.budgetMs ?? Number.POSITIVE_INFINITY),
        until = Math.min(this.#until, ownUntil),
        line = { budget, until, running: 0, nextAt: 0, waiting: [] };
      return (this.#lines.set(vendor, line), line);
    }
  };
var pageSize = 100,
  readsAtOnce = 16,
  closingMs = 8e3;
async function reconcileJobs(world, laneNames, budgets, shift) {
  let startedAt = world.clock.now(),
    errors = [],
    lanes = await tendLanes(world, laneNames, errors),
    byName = new Map(lanes.map(({ lane }) => [lane.lane, lane])),
    until = shift.endsAt - closingMs,
    pace = new VendorPace(world.clock, world.waiting, budgets, until, shift.signal),
    tick = { shift, pace, lanes: new Set(laneNames), laneOf: (name) => byName.get(name) },
    shards = Array.from({ length: 8 }, (_, shard) => tendShard(world, tick, shard, startedAt, until, errors)),
    seen = await Promise.all(shards);
  return (
    await world.feed.flush(),
    {
      lanes,
      looked: seen.reduce((sum, { looked }) => sum + looked, 0),
      oldestDueMs: Math.max(0, ...seen.map(({ oldest }) => (oldest === void 0 ? 0 : startedAt - oldest))),
      flagged: await countFlagged(world, laneNames, errors),
      errors,
    }
  );
}
async function tendLanes(world, names, errors) {
  let seen = [];
  for (let name of names)
    try {
      seen.push(await tendLane(world, name));
    } catch (cause) {
      errors.push(new Error(`Lane ${name} could not be tended.`, { cause }));
    }
  return seen;
}
async function tendShard(world, tick, shard, startedAt, until, errors) {
  let seen = { looked: 0, oldest: void 0 },
    reading = new Set(),
    tending = [],
    collect = (id, cause) => {
      errors.push(new Error(`Job ${id} could not be tended.`, { cause }));
    },
    look = async (due) => {
      let job = await readDue(world, due);
      job !== void 0 &&
        (tick.lanes.has(job.lane) ||
          errors.push(new Error(`Job ${job.id} is of lane ${job.lane}, which is not deployed.`)),
        tending.push(tendJob(world, tick, job).catch((cause) => collect(job.id, cause))));
    };
  try {
    let cursor;
    do {
      let page = await world.index.due(shard, startedAt, cursor, pageSize);
      for (let due of page.items) {
        if (world.clock.now() >= until || tick.shift.signal.aborted) break;
        ((seen.looked += 1), (seen.oldest ??= due.checkAt));
        let read = look(due)
          .catch((cause) => collect(due.id, cause))
          .finally(() => reading.delete(read));
        (reading.add(read), reading.size >= readsAtOnce && (await Promise.race(reading)));
      }
      cursor = page.next;
    } while (cursor !== void 0 && world.clock.now() < until && !tick.shift.signal.aborted);
  } catch (cause) {
    errors.push(new Error(`Shard ${shard} could not be read to its end.`, { cause }));
  }
  return (await Promise.all(reading), await Promise.all(tending), seen);
}
async function readDue(world, due) {
  let read = await world.jobs.read(due.id);
  if (read?.kind !== 'job') return;
  let { job } = read;
  return job.checkAt > world.clock.now() && job.announce === void 0 ? void 0 : job;
}
var mostCounted = 1e3;
async function countFlagged(world, lanes, errors) {
  let counts = {};
  for (let lane of lanes)
    try {
      let page = await world.index.flagged(lane, void 0, mostCounted);
      counts[lane] = page.items.length;
    } catch (cause) {
      errors.push(new Error(`The flagged jobs of lane ${lane} could not be counted.`, { cause }));
    }
  return counts;
}
export { dispatchJob, reconcileJobs };
