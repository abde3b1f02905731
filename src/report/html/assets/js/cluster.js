// Figures of lanes: who led and who was in sync by the controller's log, in which state each node was, what the caches of producers
// showed. js/lanes.js draws them.

/** The nodes of the run, each with its colour and hatching for good. */
const nodeRanks = new Map();

function nodeBlock(node) {
  if (!isKnown(node)) return { key: "none", text: "none", words: "no leader", color: null };
  if (!nodeRanks.has(node)) nodeRanks.set(node, nodeRanks.size);
  const rank = nodeRanks.get(node);
  return { key: node, text: String(node), words: `leader ${node}`, color: seriesColor(rank), hatch: Math.floor(rank / SERIES_COLORS) };
}

/** A topic that is gone has no partition that anybody could lead: that is no partition without a leader. */
const DELETED = { key: "deleted", text: "deleted", words: "the topic is deleted", color: null, outline: "ink-soft" };

/** An event of the controller's log without a leader epoch says that the topic is gone. */
const isDeleted = ([, , epoch]) => !isKnown(epoch);

function rankNodes(data) {
  nodeRanks.clear();
  const seen = new Set([
    ...(data.brokers?.nodes ?? []).map((node) => node.node),
    ...(data.partitions?.topics ?? []).flatMap((topic) => topic.events.flatMap((event) => [event[1], ...event[3]])),
  ]);
  [...seen]
    .filter(isKnown)
    .sort((a, b) => a - b)
    .forEach((node) => nodeBlock(node));
}

function replicas(plot, data) {
  const { topics, left_out: leftOut } = data.partitions ?? { topics: [] };
  if (topics.length === 0) return "Nobody saw the controller’s log in this run, so who led and who was in sync is not known.";
  // Those that changed are why one looks.
  const sorted = [...topics].sort((a, b) => (b.events.length > 1) - (a.events.length > 1));
  const rows = sorted.map((topic) => replicaRow(topic));
  lanes(plot, {
    label: "Leader, replicas in sync and high watermark of partitions",
    unit: "leader (number), replicas in sync (strip under it), high watermark (line)",
    rows,
    rowPx: 42,
  });
  plot.append(nodeKey());
  noteLeftOut(plot, leftOut, "partitions, those that changed least,");
  noteCut(plot, topics, "partitions");
  plot.append(
    tableOnDemand(
      "Leaders and replicas in sync as a table",
      "What the controller’s log said, by partition and time",
      ["partition", "time", "leader", "leader epoch", "in sync", "replicas"],
      () => sorted.flatMap(replicaCells),
    ),
  );
  return null;
}

function replicaCells(topic) {
  const name = `${topic.topic}/${topic.partition}`;
  const rows = topic.events.map((event) => {
    const [time, leader, epoch, isr, replicas] = event;
    if (isDeleted(event)) return [name, moment(time), "topic deleted", "", "", ""];
    return [name, moment(time), isKnown(leader) ? String(leader) : "none", String(epoch), isr.join(" ") || "none", String(replicas)];
  });
  return [...rows, ...notKnownFrom(topic).map((time) => [name, time, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN])];
}

/** The moment from which on a lane is not known, if that is before the end. */
const notKnownFrom = (lane) => (lane.events.length > 0 && endOf(lane) < Time.full.to ? [moment(endOf(lane))] : []);

/** Lanes that end early because their later events found no room. */
function noteCut(plot, lanes, what) {
  const cut = lanes.reduce((sum, lane) => sum + lane.events_left_out, 0);
  noteLeftOut(plot, cut, `later changes of these ${what}, from where their rows end,`);
}

function replicaRow(topic) {
  const end = endOf(topic);
  const leaders = blocksOf(topic.events, end, (event) => (isDeleted(event) ? DELETED : nodeBlock(event[1])));
  const full = blocksOf(topic.events, end, (event) => ({
    key: `${event[1]} ${event[2]} ${event[3]} ${event[4]}`,
    isDeleted: isDeleted(event),
    leader: event[1],
    epoch: event[2],
    isr: event[3],
    replicas: event[4],
  }));
  const counted = blocksOf(topic.events, end, (event) => ({
    key: isDeleted(event) ? null : `${event[3].length} ${event[4]}`,
    count: event[3].length,
    most: event[4],
  }));
  const inSync = counted.filter((block) => block.key !== null);
  const marks = topic.high_watermark ?? [];
  return {
    name: [`${topic.topic}/${topic.partition}`],
    bands: [
      { top: 4, height: 15, blocks: leaders },
      { top: 21, height: 5, steps: inSync },
      { top: 29, height: 10, curve: marks },
    ],
    words: (at) => {
      const block = blockAt(full, at);
      if (block === null) return unknownAt(topic, at);
      if (block.isDeleted) return DELETED.words;
      const mark = marks.findLast((one) => one[0] <= at);
      const who = isKnown(block.leader) ? `leader ${block.leader}, epoch ${block.epoch}` : "no leader";
      return `${who}, in sync ${block.isr.join(" ") || "none"} of ${number(block.replicas)} replicas, high watermark ${mark && isKnown(mark[1]) ? number(mark[1]) : UNKNOWN}`;
    },
  };
}

/** Which colour is which node. */
function nodeKey() {
  const entries = [...nodeRanks].map(([node, rank]) =>
    element(
      "li",
      {},
      svg(
        "svg",
        { width: 18, height: 14, "aria-hidden": "true", class: `ink-${seriesColor(rank)}` },
        svg("rect", { width: 18, height: 14, rx: 2, class: "area" }),
        svg("text", { x: 9, y: 10.5, "text-anchor": "middle", class: "on-area" }, String(node)),
      ),
      `node ${node}`,
    ),
  );
  return element("ul", { class: "key" }, ...entries);
}

const STATES = {
  running: ["ok", 0],
  paused: ["series-1", 1],
  disconnected: ["series-5", 3],
  exited: ["bad", 0],
  absent: ["ink-soft", 2],
  "not-started": ["grid-strong", 2],
};

function nodeStates(plot, line) {
  const rows = line.nodes
    .filter((node) => hasAny(node.state))
    .map((node) => {
      const events = line.time_ms.map((time, at) => [time, node.state[at]]);
      const blocks = blocksOf(events, Math.min(line.time_ms[line.time_ms.length - 1] + line.bucket_ms, Time.full.to), ([, state]) => ({
        key: state ?? "",
        text: state ?? UNKNOWN,
        color: isKnown(state) ? (STATES[state] ?? ["ink-soft"])[0] : null,
        hatch: (STATES[state] ?? [0, 0])[1],
      })).filter((block) => block.key !== "");
      return { name: [`node ${node.node}`], bands: [{ top: 3, height: 16, blocks }], words: (at) => blockAt(blocks, at)?.text ?? UNKNOWN };
    });
  if (rows.length > 0)
    lanes(plot, {
      label: "State of each node",
      unit: `state of each node, as the container engine says${within(line, "the last that is not running of each")}`,
      rows,
      rowPx: 22,
    });
}

function caches(plot, data) {
  const all = data.caches ?? { counts: [], leaders: [], untold: [] };
  const { counts, leaders } = all;
  if (counts.length + leaders.length === 0) return "No producer told what its cache shows: only some engines do.";
  const grown = ofChanged(counts, (cache) => cache.topic);
  const told = ofChanged(leaders, (cache) => `${cache.topic}/${cache.partition}`);
  if (counts.length > grown.length)
    plot.append(element("p", { class: "note" }, unchangedCounts(counts.filter((cache) => !grown.includes(cache)))));
  if (grown.length > 0) {
    const known = [...new Set(grown.flatMap((cache) => cache.events.map((event) => event[1])))].sort((a, b) => a - b);
    const rows = grown.map((cache) => {
      const blocks = blocksOf(cache.events, endOf(cache), ([, count, reason]) => ({
        key: `${count} ${reason}`,
        text: `${count}${reason ? ` ${reason.replaceAll("_", " ")}` : ""}`,
        words: `${number(count)} partitions${reason ? `, since a request by reason ${reason.replaceAll("_", " ")}` : ""}`,
        color: seriesColor(known.indexOf(count)),
      }));
      return {
        name: [`${cache.group} ${cache.producer}`, cache.topic],
        bands: [{ top: 5, height: 18, blocks }],
        words: (at) => blockAt(blocks, at)?.words ?? unknownAt(cache, at),
      };
    });
    lanes(plot, {
      label: "Partitions in the caches of producers",
      unit: "partitions that each producer’s cache shows, and the reason of the request that brought them",
      rows,
      rowPx: 28,
    });
  }
  noteCaches(plot, counts, all.counts_left_out, all.counts_refused, "partition counts");
  noteUntold(plot, all.untold, "counts", "how many partitions their caches show");
  if (leaders.length > told.length)
    plot.append(
      element(
        "p",
        { class: "note" },
        `${number(leaders.length - told.length)} of ${number(leaders.length)} cached leaders are of partitions whose leader stayed the same in all caches of this page.`,
      ),
    );
  if (told.length > 0) {
    const rows = told.map((cache) => {
      const blocks = blocksOf(cache.events, endOf(cache), (event) => cachedLeader(event[1]));
      return {
        name: [`${cache.group} ${cache.producer}`, `${cache.topic}/${cache.partition}`],
        bands: [{ top: 5, height: 18, blocks }],
        words: (at) => blockAt(blocks, at)?.words ?? unknownAt(cache, at),
      };
    });
    lanes(plot, {
      label: "Leaders in the caches of producers",
      unit: "leader that each producer’s cache shows",
      rows,
      rowPx: 28,
      isPlain: grown.length > 0,
    });
    plot.append(nodeKey());
  }
  noteCaches(plot, leaders, all.leaders_left_out, all.leaders_refused, "leaders");
  noteUntold(plot, all.untold, "leaders", "which leaders their caches show");
  plot.append(
    tableOnDemand("Caches as a table", "What each producer’s cache showed, by time", ["cache", "time", "shows"], () => [
      ...counts.flatMap((cache) =>
        cacheCells(cache, cache.topic, ([, count, reason]) => `${number(count)} partitions${reason ? ` (${reason})` : ""}`),
      ),
      ...leaders.flatMap((cache) => cacheCells(cache, `${cache.topic}/${cache.partition}`, ([, leader]) => cachedLeader(leader).words)),
    ]),
  );
  return null;
}

function cacheCells(cache, subject, words) {
  const name = `${cache.group} ${cache.producer}, ${subject}`;
  const rows = cache.events.map((event) => [name, moment(event[0]), words(event)]);
  return [...rows, ...notKnownFrom(cache).map((time) => [name, time, UNKNOWN])];
}

/** A cache that shows no leader may hold the topic no more. */
const cachedLeader = (leader) => (isKnown(leader) ? nodeBlock(leader) : { ...nodeBlock(null), words: "no leader, or no such topic" });

/** What bounds refused of the caches above. */
function noteCaches(plot, shown, leftOut, refused, what) {
  noteLeftOut(plot, leftOut, `caches’ ${what}`);
  noteCut(plot, shown, "caches");
  noteLeftOut(plot, refused, `changes of ${what} of further caches`);
}

/** Who has no row because nobody told of it, not because nothing changed. */
function noteUntold(plot, untold, which, what) {
  for (const group of untold.filter((one) => one[which] > 0)) {
    const who = group[which] === group.clients ? "None" : `${number(group.clients - group[which])}`;
    plot.append(
      element(
        "p",
        { class: "note" },
        `${who} of the ${number(group.clients)} clients of `,
        element("code", {}, group.group),
        ` told ${what}.`,
      ),
    );
  }
}

/** The caches of whatever changed in one of them: those that did not follow are what one looks for. */
function ofChanged(caches, subject) {
  const changed = new Set(caches.filter((cache) => cache.events.length > 1).map(subject));
  return caches.filter((cache) => changed.has(subject(cache)));
}

/** One sentence for the caches that have nothing to show over time. */
function unchangedCounts(counts) {
  const shown = [...new Set(counts.map((cache) => cache.events[0]?.[1]).filter(isKnown))].sort((a, b) => a - b);
  const what =
    shown.length === 0 ? "no partition count" : `${shown.map(number).join(" or ")} partitions from the first answer on, as long as it told`;
  return `${number(counts.length)} ${counts.length === 1 ? "cache" : "caches"} of a producer and a topic showed ${what}.`;
}
