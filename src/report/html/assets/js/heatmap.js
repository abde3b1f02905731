// The heat map of outages: producers down, partitions across, a step at a time. Dark is long; a cell that never recovered is crossed out. A
// pair that was not in use had no record to wait for: its cell is empty but for a dot, so that nobody takes it for one that did not stall.

const CELL_PX = { least: 5, most: 110 };
const HEAT_GUTTER_PX = 108;
const HEAT_HEAD_PX = 20;
const HEAT_SHADES = 6;
const WORST_ROWS = 50;

function outages(plot, data) {
  const map = data.outages ?? { rows: [], columns: [], steps: [] };
  const { rows, columns, steps } = map;
  if (steps.length === 0 || rows.length === 0) return "No step stalled any producer’s partition for longer than the threshold.";
  const worst = (step) => step.cells.reduce((most, cell) => Math.max(most, cell[2]), 0);
  // One scale for all steps: they are to be compared.
  const most = Math.max(1, ...steps.map(worst));
  const longest = steps.reduce((best, step, at) => (worst(step) > worst(steps[best]) ? at : best), 0);
  const heat = new HeatMap(map, most);
  const about = element("p", { class: "unit" });
  const listed = element("div");
  const show = (at) => {
    const step = steps[at];
    heat.show(step);
    const stalled = `${number(step.cells.length)} of ${number(pairsInUse(map, step))} pairs that are shown here and were in use stalled`;
    about.textContent = `step ${step.step}, ${step.label}: ${stalled}, the longest for ${milliseconds(worst(step))}; figures in seconds`;
    listed.replaceChildren(
      tableOnDemand(
        "The longest as a table",
        `Longest outages of step ${step.step}`,
        ["producer", "partition", "outage", "recovered"],
        () => worstRows(step, rows, columns),
      ),
    );
    noteLeftOut(listed.firstChild, step.cells.length - WORST_ROWS, "outages of this step, the shortest,");
  };
  plot.append(...choiceOfSteps(steps, longest, show));
  plot.append(about, heat.root, heatKey(most), listed);
  noteLeftOut(plot, map.rows_left_out, "producers, those with the shortest outages,");
  noteLeftOut(plot, map.columns_left_out, "partitions, those with the shortest outages,");
  noteLeftOut(plot, map.steps_left_out, "steps, those with the shortest outages,");
  noteLeftOut(plot, map.left_out, "outages, of these producers, partitions and steps,");
  show(longest);
  return null;
}

const nameOfRow = (row) => `${row.group} ${row.producer}`;
const nameOfColumn = (column) => `${column.topic}/${column.partition}`;

function worstRows(step, rows, columns) {
  return [...step.cells]
    .sort((a, b) => b[2] - a[2])
    .slice(0, WORST_ROWS)
    .map(([row, column, ms, recovered]) => [
      nameOfRow(rows[row]),
      nameOfColumn(columns[column]),
      milliseconds(ms),
      recovered ? "yes" : "never",
    ]);
}

/** Why a pair can have no outage at a step: it was not in use then. Null if it was. */
function whyUnused(map, step, row, column) {
  const first = map.first_due_ms[row][column];
  if (!isKnown(first)) return "never used";
  if (isKnown(step.until_ms) && first >= step.until_ms) return `not used before ${moment(first)}`;
  const until = map.rows[row].due_until_ms;
  return isKnown(until) && until > step.requested_ms ? null : "not used any more";
}

function pairsInUse(map, step) {
  const stalled = new Set(step.cells.map(([row, column]) => row * map.columns.length + column));
  const isInUse = (row, column) => stalled.has(row * map.columns.length + column) || whyUnused(map, step, row, column) === null;
  return map.rows.reduce((sum, _, row) => sum + map.columns.filter((__, column) => isInUse(row, column)).length, 0);
}

const shadeOf = (ms, most) => Math.min(HEAT_SHADES - 1, Math.floor((ms / most) * HEAT_SHADES));

function heatKey(most) {
  const entries = Array.from({ length: HEAT_SHADES }, (_, at) =>
    element(
      "li",
      {},
      svg(
        "svg",
        { width: 18, height: 14, "aria-hidden": "true", class: `ink-heat-${at}` },
        svg("rect", { width: 18, height: 14, class: "area" }),
      ),
      `to ${roundMilliseconds((most * (at + 1)) / HEAT_SHADES)}`,
    ),
  );
  const never = element(
    "li",
    {},
    svg("svg", { width: 18, height: 14, "aria-hidden": "true" }, svg("path", { d: "M3 1L15 13M15 1L3 13", class: "cross" })),
    "never recovered",
  );
  const none = element(
    "li",
    {},
    svg(
      "svg",
      { width: 18, height: 14, "aria-hidden": "true", class: "ink-heat-none" },
      svg("rect", { width: 18, height: 14, class: "area" }),
    ),
    "no outage",
  );
  const unused = element(
    "li",
    {},
    svg(
      "svg",
      { width: 18, height: 14, "aria-hidden": "true", class: "ink-ink-soft" },
      svg("circle", { cx: 9, cy: 7, r: 1.5, class: "area" }),
    ),
    "not in use",
  );
  return element("ul", { class: "key" }, element("li", {}, "outage"), unused, none, ...entries, never);
}

class HeatMap {
  constructor(map, most) {
    this.map = map;
    this.rows = map.rows;
    this.columns = map.columns;
    this.most = most;
    this.step = null;
    this.cells = new Map();
    this.at = null;
    this.canvas = element("canvas", {
      tabindex: 0,
      role: "application",
      "aria-roledescription": "heat map",
      "aria-label": "Outages by producer (down) and partition (across). Arrow keys go from cell to cell.",
    });
    this.box = element("div", { class: "scroll heat" }, this.canvas);
    this.said = element("p", { class: "said" });
    this.root = element("div", {}, this.box, this.said);
    this.canvas.addEventListener("mousemove", (event) => this.moved(event));
    this.canvas.addEventListener("mouseleave", () => this.choose(null));
    this.canvas.addEventListener("blur", () => this.choose(null));
    this.canvas.addEventListener("keydown", (event) => this.pressed(event));
    onWidth(this.box, (width) => this.layOut(width));
    redraws.add(() => this.draw());
  }

  show(step) {
    this.step = step;
    this.cells = new Map(step.cells.map(([row, column, ms, recovered]) => [row * this.columns.length + column, { ms, recovered }]));
    if (this.at !== null) this.said.textContent = this.words(this.at);
    this.draw();
  }

  layOut(width) {
    const fit = (room, count, least, most) => Math.min(Math.max(Math.floor(room / count), least), most);
    this.cellWidth = fit(width - HEAT_GUTTER_PX, this.columns.length, CELL_PX.least, CELL_PX.most);
    this.cellHeight = fit(520, this.rows.length, CELL_PX.least, 22);
    this.draw();
  }

  draw() {
    if (this.cellWidth === undefined || this.step === null) return;
    const scale = devicePixelRatio;
    const width = HEAT_GUTTER_PX + this.cellWidth * this.columns.length;
    const height = HEAT_HEAD_PX + this.cellHeight * this.rows.length;
    this.canvas.width = width * scale;
    this.canvas.height = height * scale;
    this.canvas.style.width = `${width}px`;
    this.canvas.style.height = `${height}px`;
    const pen = this.canvas.getContext("2d");
    pen.scale(scale, scale);
    pen.fillStyle = color("heat-none");
    pen.fillRect(HEAT_GUTTER_PX, HEAT_HEAD_PX, width - HEAT_GUTTER_PX, height - HEAT_HEAD_PX);
    this.drawUnused(pen);
    this.drawNames(pen);
    this.cells.forEach((cell, index) => this.drawCell(pen, Math.floor(index / this.columns.length), index % this.columns.length, cell));
    if (this.at !== null) {
      pen.strokeStyle = color("ink");
      pen.lineWidth = 2;
      pen.strokeRect(
        HEAT_GUTTER_PX + this.at[1] * this.cellWidth,
        HEAT_HEAD_PX + this.at[0] * this.cellHeight,
        this.cellWidth - 1,
        this.cellHeight - 1,
      );
    }
  }

  /** Cells of pairs that were not in use are as empty as the page, with a dot. */
  drawUnused(pen) {
    const size = this.cellWidth >= 12 && this.cellHeight >= 12 ? 3 : 1;
    this.rows.forEach((_, row) =>
      this.columns.forEach((__, column) => {
        if (this.cells.has(row * this.columns.length + column) || whyUnused(this.map, this.step, row, column) === null) return;
        const x = HEAT_GUTTER_PX + column * this.cellWidth;
        const y = HEAT_HEAD_PX + row * this.cellHeight;
        pen.fillStyle = color("surface");
        pen.fillRect(x, y, this.cellWidth, this.cellHeight);
        pen.fillStyle = color("ink-soft");
        pen.fillRect(x + (this.cellWidth - 1 - size) / 2, y + (this.cellHeight - 1 - size) / 2, size, size);
      }),
    );
  }

  drawNames(pen) {
    pen.fillStyle = color("ink-soft");
    pen.font = font(10.5);
    pen.textBaseline = "middle";
    pen.textAlign = "right";
    const everyRow = Math.ceil(13 / this.cellHeight);
    for (let at = 0; at < this.rows.length; at += everyRow)
      pen.fillText(shorten(nameOfRow(this.rows[at]), 17), HEAT_GUTTER_PX - 6, HEAT_HEAD_PX + (at + 0.5) * this.cellHeight);
    pen.textAlign = "left";
    const widest = this.columns.reduce((most, column) => Math.max(most, pen.measureText(shorten(nameOfColumn(column), 17)).width), 0) + 10;
    const everyColumn = Math.ceil(widest / this.cellWidth);
    for (let at = 0; at < this.columns.length; at += everyColumn) {
      if (at > 0 && (this.columns.length - at) * this.cellWidth < widest - 10) break;
      pen.fillText(shorten(nameOfColumn(this.columns[at]), 17), HEAT_GUTTER_PX + at * this.cellWidth + 2, HEAT_HEAD_PX - 9);
    }
  }

  drawCell(pen, row, column, cell) {
    const x = HEAT_GUTTER_PX + column * this.cellWidth;
    const y = HEAT_HEAD_PX + row * this.cellHeight;
    const [width, height] = [this.cellWidth - 1, this.cellHeight - 1];
    const shade = shadeOf(cell.ms, this.most);
    pen.fillStyle = color(`heat-${shade}`);
    pen.fillRect(x, y, width, height);
    pen.fillStyle = pen.strokeStyle = color(shade >= HEAT_SHADES / 2 ? "heat-ink-strong" : "heat-ink");
    if (!cell.recovered) {
      pen.lineWidth = 1.5;
      pen.beginPath();
      pen.moveTo(x + 1, y + 1);
      pen.lineTo(x + width - 1, y + height - 1);
      pen.moveTo(x + width - 1, y + 1);
      pen.lineTo(x + 1, y + height - 1);
      pen.stroke();
    } else if (width >= 34 && height >= 13) {
      pen.textAlign = "center";
      pen.fillText((cell.ms / 1000).toFixed(1), x + width / 2, y + height / 2 + 0.5);
    }
  }

  moved(event) {
    const column = Math.floor((event.offsetX - HEAT_GUTTER_PX) / this.cellWidth);
    const row = Math.floor((event.offsetY - HEAT_HEAD_PX) / this.cellHeight);
    this.choose(row >= 0 && row < this.rows.length && column >= 0 && column < this.columns.length ? [row, column] : null);
  }

  pressed(event) {
    const move = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] }[event.key];
    if (move === undefined) return;
    event.preventDefault();
    const [row, column] = this.at === null ? [0, 0] : [this.at[0] + move[0], this.at[1] + move[1]];
    this.choose([Math.min(Math.max(row, 0), this.rows.length - 1), Math.min(Math.max(column, 0), this.columns.length - 1)]);
    this.reveal(this.at[1]);
    announce(this.said.textContent);
  }

  /** Scrolls sideways as far as a column needs; with the first one the names of rows are back. */
  reveal(column) {
    const left = column === 0 ? 0 : HEAT_GUTTER_PX + column * this.cellWidth;
    const right = HEAT_GUTTER_PX + (column + 1) * this.cellWidth;
    this.box.scrollLeft = Math.min(Math.max(this.box.scrollLeft, right - this.box.clientWidth), left);
  }

  choose(at) {
    if (String(at) === String(this.at)) return;
    this.at = at;
    this.said.textContent = at === null ? "" : this.words(at);
    this.draw();
  }

  words([row, column]) {
    const cell = this.cells.get(row * this.columns.length + column);
    const what =
      cell === undefined
        ? (whyUnused(this.map, this.step, row, column) ?? "no outage")
        : `${milliseconds(cell.ms)}${cell.recovered ? "" : ", never recovered"}`;
    return `${nameOfRow(this.rows[row])}, ${nameOfColumn(this.columns[column])}: ${what}`;
  }
}
