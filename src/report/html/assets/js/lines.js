// Figures of lines over time: records, in flight, Metadata requests, latency, brokers, the load generator. Each function fills one
// plot box from the page's data, or returns why there is nothing to draw.

const LINE_PX = 200;
const SMALL_PX = 120;

/** Values of each second, at its beginning (`share` 0), middle or end. Of more seconds they stand in the middle; nothing stands beyond the end
 *  of what was told. */
function timesOf(line, share) {
  const shift = line.bucket_ms > 1000 ? line.bucket_ms / 2 : share * line.bucket_ms;
  return line.time_ms.map((time) => Math.max(time, Math.min(time + shift, Time.full.to)));
}

const hasAny = (values) => Array.isArray(values) && values.some(isKnown);

/** Steps hold until the bucket's end, so the last one needs an end of its own. */
function stepped(line) {
  const { time_ms: times, bucket_ms: bucket } = line;
  const last = times[times.length - 1];
  const end = Math.max(last, Math.min(last + bucket, Time.full.to));
  return { times: [...times, end], extend: (values) => [...values, values[values.length - 1]] };
}

/** Sums over groups; unknown as soon as one of them is. */
function sums(lists) {
  return lists[0].map((_, at) => lists.reduce((sum, values) => (isKnown(sum) && isKnown(values[at]) ? sum + values[at] : null), 0));
}

/** What one value of a line stands for, where that is more than a second: long runs have wider buckets. */
const within = (line, what) => (line.bucket_ms > 1000 ? `, ${what} ${line.bucket_ms / 1000} s` : "");

/** Groups that a figure would show if there were room. */
const noteGroups = (plot, data) => noteLeftOut(plot, data.timeline.groups_left_out, "groups, the last of the plan,");

/** Groups of which a figure has nothing to show. */
function noteWithout(plot, groups, why) {
  if (groups.length === 0) return;
  const names = groups.flatMap((group, at) => [at > 0 ? ", " : "", element("code", {}, group.name)]);
  plot.append(element("p", { class: "note" }, "Without ", ...names, `: ${why}.`));
}

const hasLoad = (data) => data.timeline.groups.length > 0 && data.timeline.time_ms.length > 0;

function records(plot, data) {
  const { groups } = data.timeline;
  if (!hasLoad(data)) return "No group sent anything in this run, so there are no records to show.";
  const { times, extend } = stepped(data.timeline);
  perGroup(plot, groups, true, (box, chosen) => {
    const of = (name) => extend(sums(chosen.map((group) => group[name])));
    const rare = (name, rest) => {
      const values = of(name);
      return { values, drawn: withoutRests(values), isStepped: true, ...rest };
    };
    new TimeChart(box, {
      label: "Records per second",
      unit: `records per second${within(data.timeline, "the mean of each")}`,
      height: LINE_PX + 40,
      times,
      y: { format: number },
      series: [
        { name: "due", values: of("due"), color: "ink-soft", dash: [2, 3], isStepped: true },
        { name: "ok", values: of("ok"), color: "ok", isFilled: true, isStepped: true },
        rare("indeterminate", { name: "indeterminate", color: "doubt", dash: [6, 3], width: 2.25 }),
        rare("failed", { name: "failed", color: "bad", width: 2.5, hasPoints: true }),
      ],
    });
  });
  noteGroups(plot, data);
  noteLeftOut(plot, data.steps_left_out, "steps, those with the shortest outages, have no mark in the charts over time and");
  return null;
}

function inFlight(plot, data) {
  const { groups } = data.timeline;
  if (!hasLoad(data)) return "No group sent anything in this run, so nothing was in flight.";
  const times = timesOf(data.timeline, 1);
  perGroup(plot, groups, true, (box, chosen) => {
    const of = (name) => sums(chosen.map((group) => group[name]));
    new TimeChart(box, {
      label: "Records in flight",
      unit: `records in flight, at each second’s end${within(data.timeline, "the most of each")}`,
      height: LINE_PX,
      times,
      y: { format: number },
      series: [{ name: "in flight", values: of("in_flight"), color: seriesColor(0), isFilled: true }],
    });
    const stalled = of("stalled_pairs");
    if (!hasAny(stalled)) return;
    new TimeChart(box, {
      label: "Stalled pairs",
      unit: `producer-partition pairs that stall${within(data.timeline, "the most of each")}`,
      height: SMALL_PX,
      isPlain: true,
      times,
      y: { format: number },
      series: [{ name: "stalled pairs", values: stalled, color: "bad", dash: DASHES[1], isFilled: true }],
    });
  });
  noteGroups(plot, data);
  return null;
}

/** Reasons in the order in which they stack: what a healthy client does is at the bottom. */
const REASONS = [
  "age",
  "start",
  "new_topic",
  "disconnect",
  "produce_error",
  "metadata_error",
  "no_leader",
  "rebootstrap",
  "producer_id",
  "connected",
  "leader_query",
  "unknown",
];

function metadataRequests(plot, data) {
  const { groups, requesters } = data.timeline;
  if (data.timeline.time_ms.length === 0 || groups.length + requesters.length === 0)
    return "No client sent Metadata requests that were counted.";
  const counting = groups.filter((group) => group.requests !== null && group.requests !== undefined);
  const { times, extend } = stepped(data.timeline);
  const unit = `Metadata requests of producers per second, by reason${within(data.timeline, "the mean of each")}`;
  if (counting.length > 0) perGroup(plot, counting, true, (box, chosen) => stackedReasons(box, chosen, times, extend, unit));
  const silent = groups.filter((group) => !counting.includes(group));
  noteWithout(plot, silent, "its clients do not count their Metadata requests");
  noteGroups(plot, data);
  if (requesters.length > 0) {
    new TimeChart(plot, {
      label: "Requests of requesters per second",
      unit: `requests of requesters per second${within(data.timeline, "the mean of each")}`,
      height: SMALL_PX + 20,
      isPlain: counting.length > 0,
      times,
      y: { format: number },
      series: requesters.flatMap((requester, at) => [
        { name: requester.name, values: extend(requester.sent), color: seriesColor(at), dash: DASHES[at % DASHES.length], isStepped: true },
        {
          name: `${requester.name}, failed`,
          values: extend(requester.failed),
          drawn: extend(withoutRests(requester.failed)),
          color: "bad",
          isStepped: true,
          hasPoints: true,
          isShown: requester.failed.some((count) => count > 0),
        },
      ]),
    });
  }
  noteLeftOut(plot, data.timeline.requesters_left_out, "groups of requesters, the last of the plan,");
  return null;
}

/** Areas on top of each other, the highest sum drawn first so that each covers the rest of what is above it. */
function stackedReasons(box, groups, times, extend, unit) {
  const named = [...new Set(groups.flatMap((group) => Object.keys(group.requests)))];
  const rank = (name) => (REASONS.includes(name) ? REASONS.indexOf(name) : REASONS.length);
  named.sort((a, b) => rank(a) - rank(b));
  const zeros = times.slice(1).map(() => 0);
  const stack = [];
  let below = extend(zeros);
  for (const name of named) {
    // A group that never had this reason had none of it, in those seconds in which it told its reasons.
    const none = (group) => {
      const told = Object.values(group.requests)[0] ?? zeros;
      return told.map((count) => (isKnown(count) ? 0 : null));
    };
    const values = extend(sums(groups.map((group) => group.requests[name] ?? none(group))));
    below = below.map((sum, at) => (isKnown(sum) && isKnown(values[at]) ? sum + values[at] : null));
    const index = rank(name);
    stack.unshift({
      name: name.replaceAll("_", " "),
      values,
      drawn: withoutRests(below),
      color: seriesColor(index),
      hatch: index % 6,
      isFilled: true,
      isStepped: true,
      width: 1,
    });
  }
  if (stack.length === 0) {
    box.append(empty("No Metadata request was sent."));
    return;
  }
  new TimeChart(box, {
    label: "Metadata requests per second by reason",
    unit,
    height: LINE_PX,
    times,
    y: { format: number },
    series: stack,
    isStacked: true,
  });
}

function latency(plot, data) {
  const times = timesOf(data.timeline, 0.5);
  const groups = data.timeline.groups.filter((group) => hasAny(group.response_max_us) || hasAny(group.service_max_us));
  if (groups.length === 0) return "No record was acknowledged, so there is no latency to show.";
  perGroup(plot, groups, false, (box, [group]) => {
    const line = (name, field, colorName, rest) => ({ name, values: group[field], color: colorName, ...rest });
    new TimeChart(box, {
      label: `Latency of ${group.name} over time`,
      unit: `latency of acknowledged records, by the second of the ack${within(data.timeline, "over each")}`,
      height: LINE_PX + 40,
      times,
      y: { format: microseconds, tick: roundMicroseconds, isLog: true },
      series: [
        line("response max", "response_max_us", seriesColor(1), { dash: DASHES[2] }),
        line("response p99", "response_p99_us", seriesColor(0), { dash: DASHES[1] }),
        line("response p50", "response_p50_us", seriesColor(0), { width: 2.25 }),
        line("service max", "service_max_us", seriesColor(3), { dash: DASHES[2], isShown: false }),
        line("service p99", "service_p99_us", seriesColor(2), { dash: DASHES[1], isShown: false }),
        line("service p50", "service_p50_us", seriesColor(2), { width: 2.25, isShown: false }),
      ],
    });
  });
  const silent = data.timeline.groups.filter((group) => !groups.includes(group));
  noteWithout(plot, silent, "no record of it was acknowledged");
  noteGroups(plot, data);
  return null;
}

function brokers(plot, data) {
  const { nodes } = data.brokers ?? { nodes: [] };
  if (nodes.length === 0) return "Nobody looked at the brokers from outside in this run.";
  const lines = (field) =>
    nodes.map((node, at) => ({ name: `node ${node.node}`, values: node[field], color: seriesColor(at), dash: DASHES[at % DASHES.length] }));
  const chart = (field, share, unit, format, height) => {
    if (!nodes.some((node) => hasAny(node[field]))) return;
    new TimeChart(plot, {
      label: `${unit} by node`,
      unit,
      height,
      isPlain: true,
      times: timesOf(data.brokers, share),
      y: { format },
      series: lines(field),
    });
  };
  nodeStates(plot, data.brokers);
  const mean = within(data.brokers, "the mean of each");
  const most = within(data.brokers, "the most of each");
  chart("cpu_percent", 0.5, `CPU, in percent of one core${mean}`, number, LINE_PX - 20);
  chart("memory_bytes", 1, `resident memory${most}`, bytes, SMALL_PX + 20);
  const last = within(data.brokers, "at the end of each");
  chart("leaders", 1, `partitions led, by each broker’s own word${last}`, number, SMALL_PX);
  chart("under_replicated", 1, `partitions with too few replicas in sync, by their leader’s word${most}`, number, SMALL_PX);
  noteLeftOut(plot, data.brokers.left_out, "nodes");
  return null;
}

function generator(plot, data) {
  const { generator: own } = data.timeline;
  if (!own || ![own.lateness_max_us, own.cpu_percent, own.rss_bytes].some(hasAny)) return "The load generator told nothing of itself.";
  const times = timesOf(data.timeline, 0.5);
  const chart = (label, height, y, series, isPlain) => {
    const known = series.filter((one) => hasAny(one.values));
    if (known.length > 0) new TimeChart(plot, { label, unit: label, height, isPlain, times, y, series: known });
  };
  chart(
    `records handed over late by${within(data.timeline, "over each")}`,
    LINE_PX,
    { format: microseconds, tick: roundMicroseconds, isLog: true },
    [
      { name: "max", values: own.lateness_max_us, color: seriesColor(1), dash: DASHES[2] },
      { name: "p99", values: own.lateness_p99_us, color: seriesColor(0), dash: DASHES[1] },
      { name: "p50", values: own.lateness_p50_us, color: seriesColor(0), width: 2.25 },
    ],
    false,
  );
  chart(
    `CPU, in percent of one core${within(data.timeline, "the mean of each")}`,
    SMALL_PX,
    { format: number },
    [{ name: "CPU", values: own.cpu_percent, color: seriesColor(0), isFilled: true }],
    true,
  );
  chart(
    `resident memory of chaos${within(data.timeline, "the most of each")}`,
    SMALL_PX,
    { format: bytes },
    [{ name: "memory", values: own.rss_bytes, color: seriesColor(2), dash: DASHES[1] }],
    true,
  );
  return null;
}
