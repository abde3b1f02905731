// Scales of charts that are drawn in SVG: from values to pixels, linear or logarithmic, and where their lines stand.

/** Beyond this ratio of the greatest value to the least, an axis of times is logarithmic. */
const LOG_RATIO = 30;

/** Ticks of an axis at most. */
const TICKS_MAX = 9;

/** From `[low, high]` to `[from, to]` in pixels. A logarithmic scale has no place for 0 and below: `has` says so. */
function scaleOf(values, isLog, from, to) {
  const [low, high] = isLog ? logDomain(values.filter((value) => value > 0)) : linearDomain(values);
  const share = isLog
    ? (value) => Math.log(Math.max(value, low) / low) / Math.log(high / low)
    : (value) => (value - low) / (high - low);
  return {
    has: (value) => isKnown(value) && (!isLog || value > 0),
    at: (value) => from + Math.min(Math.max(share(value), 0), 1) * (to - from),
    ticks: isLog ? logTicks(low, high) : linearTicks(low, high),
  };
}

/** From 0, with some room above. */
function linearDomain(values) {
  const high = Math.max(0, ...values);
  return [0, high > 0 ? high * 1.12 : 1];
}

/** A little beyond the values, and at least a factor of three, so that a single value stands in the middle. */
function logDomain(values) {
  if (values.length === 0) return [1, 10];
  let [low, high] = [Math.min(...values) / 1.25, Math.max(...values) * 1.25];
  const widen = Math.sqrt(Math.max(1, 3 / (high / low)));
  return [low / widen, high * widen];
}

function linearTicks(low, high) {
  const raw = (high - low) / 6;
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((one) => one >= raw);
  return Array.from({ length: Math.floor((high - low) / step + 1e-9) + 1 }, (_, at) => low + at * step);
}

/** At 1, 2 and 5 times the powers of ten, or at these powers alone where that would be too many. */
function logTicks(low, high) {
  const within = (factors) => {
    const ticks = [];
    for (let exponent = Math.floor(Math.log10(low)); 10 ** exponent <= high; exponent += 1)
      ticks.push(...factors.map((factor) => Number(`${factor}e${exponent}`)).filter((tick) => tick >= low && tick <= high));
    return ticks;
  };
  const fine = within([1, 2, 5]);
  return fine.length <= TICKS_MAX ? fine : within([1]);
}
