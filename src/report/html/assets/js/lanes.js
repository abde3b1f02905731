// Lanes over time: one row per partition, cache or node, with blocks that say what held in it. Who leads, how many are in sync, what a
// cache shows, in which state a node is. Every block carries its letter or figure, so that colour is never alone.

const LANES_SHOWN = 12;

/** Up to when a lane's last event holds: nothing is drawn as known beyond the last moment that the run tells of. */
const endOf = (lane) => Math.min(lane.known_until_ms ?? Infinity, Time.full.to);

/** What is not known of a lane at a moment that no block of it holds. */
function unknownAt(lane, at) {
  if (lane.events.length > 0 && at >= endOf(lane)) return `not known from ${moment(endOf(lane))} on`;
  return "not known yet";
}

/** What lanes show: [from, to, value] from a list of [time, value...] events, until `end`. */
function blocksOf(events, end, valueOf) {
  const blocks = [];
  events.forEach((event, at) => {
    const until = Math.min(at + 1 < events.length ? events[at + 1][0] : end, end);
    if (until < event[0]) return;
    const value = valueOf(event);
    const last = blocks[blocks.length - 1];
    // What did not change is one block: an ISR may change under the same leader.
    if (last && last.to === event[0] && last.key === value.key) last.to = until;
    else blocks.push({ from: event[0], to: until, ...value });
  });
  return blocks;
}

const blockAt = (blocks, at) => blocks.findLast((block) => at >= block.from && at <= block.to) ?? null;

/** `options`: {label, unit, rows: [{name: [lines], words(at), bands: [{top, height, blocks | curve | steps}]}], rowPx, isPlain}. */
function lanes(parent, options) {
  const box = element("div");
  const draw = (rows) => {
    retire(box);
    const all = options.rows.length;
    laneChart(box, { ...options, rows });
    if (rows.length < all) {
      // Paper has no button.
      box.append(element("p", { class: "note" }, `${number(rows.length)} of ${number(all)} rows are shown. `));
      box.append(button(`Show all ${all}`, { class: "tool" }, () => draw(options.rows)));
    }
  };
  parent.append(box);
  draw(options.rows.slice(0, LANES_SHOWN));
}

function laneChart(box, options) {
  const { rows, rowPx } = options;
  const strip = options.isPlain ? 10 : STRIP_PX;
  const events = new Set([Time.full.from, Time.full.to]);
  rows.forEach((row) => row.bands.forEach((band) => (band.blocks ?? []).forEach((block) => events.add(block.from))));
  const times = [...events].filter((time) => time >= Time.full.from && time <= Time.full.to).sort((a, b) => a - b);
  let chosen = 0;
  const said = element("p", { class: "said" });
  const describe = (at) => `${rows[chosen].name.join(" ")}: ${rows[chosen].words(at)}`;
  new TimeChart(box, {
    label: options.label,
    unit: options.unit,
    isPlain: options.isPlain,
    height: rows.length * rowPx + strip + 34,
    times,
    y: { format: () => "", scale: { range: () => [0, rows.length] }, axis: { grid: { show: false }, ticks: { show: false } } },
    series: [],
    cursor: { points: { show: false } },
    draw: (u) => drawLanes(u, rows, rowPx),
    onPoint: (index, at, u) => {
      const { top } = u.cursor;
      if (at !== null && top > 0) chosen = Math.min(Math.max(Math.floor(top / rowPx), 0), rows.length - 1);
      said.textContent = at === null ? "" : describe(at);
    },
    wordsAt: (index, at) => describe(at),
    onKey: (key, chart) => {
      if (key !== "ArrowUp" && key !== "ArrowDown") return false;
      chosen = Math.min(Math.max(chosen + (key === "ArrowDown" ? 1 : -1), 0), rows.length - 1);
      return chart.goTo(chart.index ?? chart.firstShown());
    },
  });
  box.append(said);
}

function drawLanes(u, rows, rowPx) {
  const { ctx } = u;
  const scale = uPlot.pxRatio;
  const { left, top, width, height } = u.bbox;
  const rowHeight = height / rows.length;
  const band = rowHeight / rowPx;
  ctx.save();
  rows.forEach((row, at) => drawLaneName(ctx, row.name, left, top + at * rowHeight, rowHeight, scale));
  ctx.beginPath();
  ctx.rect(left, top, width, height);
  ctx.clip();
  rows.forEach((row, at) => {
    const y = top + at * rowHeight;
    if (at > 0) {
      ctx.fillStyle = color("grid");
      ctx.fillRect(left, Math.round(y), width, scale);
    }
    for (const part of row.bands) {
      const place = [y + part.top * band, part.height * band];
      if (part.blocks) drawBlocks(u, part.blocks, ...place);
      if (part.steps) drawSteppedArea(u, part.steps, ...place);
      if (part.curve) drawCurve(u, part.curve, ...place);
    }
  });
  ctx.restore();
}

/** In the gutter, one or two lines, shortened to what fits. */
function drawLaneName(ctx, name, left, y, rowHeight, scale) {
  ctx.fillStyle = color("ink-soft");
  ctx.font = font(10.5 * scale);
  ctx.textAlign = "right";
  ctx.textBaseline = "middle";
  const room = left - 6 * scale;
  name.forEach((line, at) => {
    let text = line;
    for (let longest = line.length - 1; longest > 3 && ctx.measureText(text).width > room; longest -= 1) text = shorten(line, longest);
    const middle = y + rowHeight / 2 + (at - (name.length - 1) / 2) * 13 * scale;
    ctx.fillText(text, left - 6 * scale, middle);
  });
}

function drawBlocks(u, blocks, y, height) {
  const { ctx } = u;
  const scale = uPlot.pxRatio;
  ctx.font = `600 ${font(10.5 * scale)}`;
  ctx.textAlign = "left";
  ctx.textBaseline = "middle";
  for (const block of blocks) {
    const place = span(u, block.from, block.to);
    if (place === null) continue;
    const [start, end] = place;
    const length = Math.max(end - start - scale, scale);
    if (block.color === null) {
      ctx.strokeStyle = color(block.outline ?? "bad");
      ctx.lineWidth = scale;
      ctx.setLineDash([3 * scale, 2 * scale]);
      ctx.strokeRect(start + scale / 2, y + scale / 2, length - scale, height - scale);
      ctx.setLineDash([]);
    } else {
      ctx.fillStyle = block.hatch ? pattern(ctx, block.color, block.hatch) : color(block.color);
      ctx.fillRect(start, y, length, height);
    }
    if (height < 11 * scale || ctx.measureText(block.text).width + 6 * scale > length) continue;
    ctx.fillStyle = color(block.color === null ? (block.outline ?? "bad") : "on-series");
    if (block.hatch) {
      const width = ctx.measureText(block.text).width + 4 * scale;
      ctx.fillStyle = color(block.color);
      ctx.fillRect(start + 2 * scale, y + scale, width, height - 2 * scale);
      ctx.fillStyle = color("on-series");
    }
    ctx.fillText(block.text, start + 4 * scale, y + height / 2 + scale / 2);
  }
}

/** How many of the most that there can be, as the height of an area; the missing part stays empty and is outlined. */
function drawSteppedArea(u, steps, y, height) {
  const { ctx } = u;
  for (const step of steps) {
    const { most } = step;
    const place = span(u, step.from, step.to);
    if (place === null) continue;
    const [start, end] = place;
    const filled = most > 0 ? (step.count / most) * height : 0;
    ctx.fillStyle = color(step.count < most ? "bad" : "grid-strong");
    ctx.fillRect(start, y + height - filled, end - start, filled);
    if (step.count < most) {
      ctx.fillStyle = color("bad-soft");
      ctx.fillRect(start, y, end - start, height - filled);
    }
  }
}

/** A line from its least to its greatest value; a gap where nobody could tell. */
function drawCurve(u, points, y, height) {
  const { ctx } = u;
  const known = points.filter((point) => isKnown(point[1]));
  if (known.length === 0) return;
  const least = known.reduce((low, point) => Math.min(low, point[1]), Infinity);
  const most = known.reduce((high, point) => Math.max(high, point[1]), -Infinity);
  const range = most - least || 1;
  ctx.strokeStyle = color("ink");
  ctx.lineWidth = 1.25 * uPlot.pxRatio;
  ctx.lineJoin = "round";
  ctx.beginPath();
  let isOpen = false;
  for (const [time, value] of points) {
    if (!isKnown(value)) {
      isOpen = false;
      continue;
    }
    const place = [u.valToPos(time / 1000, "x", true), y + height - ((value - least) / range) * height];
    if (isOpen) ctx.lineTo(...place);
    else ctx.moveTo(...place);
    isOpen = true;
  }
  ctx.stroke();
}
