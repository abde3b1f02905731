// The page of one run: reads its data and fills each figure when it comes near the screen. Colours follow light and dark, paper is white.

/** What fills each figure's box, or returns why it stays empty; null where it does not. */
const FIGURES = {
  records,
  "in-flight": inFlight,
  "metadata-requests": metadataRequests,
  latency,
  percentiles,
  layers,
  replicas,
  brokers,
  outages,
  caches,
  "first-ack": firstAck,
  generator,
};

/** What one paper page is wide, in CSS pixels. */
const PAPER_PX = 680;

/** Fills one figure, once. What goes wrong is said in its place, and the others are drawn all the same. */
function fillFigure(figure, data) {
  if (figure.dataset.drawn !== undefined) return;
  figure.dataset.drawn = "";
  const plot = figure.querySelector(".plot");
  plot.replaceChildren();
  try {
    const why = FIGURES[figure.dataset.chart](plot, data);
    if (why !== null) plot.append(empty(why));
  } catch (error) {
    console.error(`figure ${figure.dataset.chart}`, error);
    plot.replaceChildren(empty(`This figure could not be drawn (${error.message}). The tables of this page do not depend on it.`));
  }
}

function begin() {
  document.documentElement.classList.add("js");
  const data = JSON.parse(document.getElementById("chaos-data").textContent);
  Time.begin(data);
  rankNodes(data);
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        fillFigure(entry.target, data);
      }
    },
    { rootMargin: "400px 0px" },
  );
  figures.forEach((figure) => near.observe(figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  onPaper(figures, data);
}

/** Print shows every figure, on white, as wide as a page. */
function onPaper(figures, data) {
  const root = document.documentElement;
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    figures.forEach((figure) => fillFigure(figure, data));
    resizes.forEach((resize) => resize(PAPER_PX));
    recolor();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    resizes.forEach((resize) => resize());
    recolor();
  });
}

begin();
