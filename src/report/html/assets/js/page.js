// What every page does with its figures: reads its data, fills each figure when it comes near the screen, follows light and dark, and is
// white on paper. Which figures there are, the page's own script says.

/** What one paper page is wide, in CSS pixels. */
const PAPER_PX = 680;

/** Fills one figure, once. What goes wrong is said in its place, and the others are drawn all the same. */
function fillFigure(figure, fillers, data) {
  if (figure.dataset.drawn !== undefined) return;
  figure.dataset.drawn = "";
  const plot = figure.querySelector(".plot");
  plot.replaceChildren();
  try {
    const why = fillers[figure.dataset.chart](plot, data);
    if (why !== null) plot.append(empty(why));
  } catch (error) {
    console.error(`figure ${figure.dataset.chart}`, error);
    plot.replaceChildren(empty(`This figure could not be drawn (${error.message}). The tables of this page do not depend on it.`));
  }
}

/** The data that the page carries. */
function dataOfPage() {
  return JSON.parse(document.getElementById("chaos-data").textContent);
}

/** `fillers`: by a figure's name, what fills its box, or returns why it stays empty; null where it does not. */
function beginPage(fillers, data) {
  const figures = [...document.querySelectorAll("figure[data-chart]")];
  const near = new IntersectionObserver(
    (entries) => {
      for (const entry of entries) {
        if (!entry.isIntersecting) continue;
        near.unobserve(entry.target);
        fillFigure(entry.target, fillers, data);
      }
    },
    { rootMargin: "400px 0px" },
  );
  document.documentElement.classList.add("js");
  figures.forEach((figure) => near.observe(figure));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolor);
  onPaper(figures, fillers, data);
}

/** What is folded away in the page's own text; a figure's table is made only when somebody opens it. */
const folded = () => [...document.querySelectorAll("main details:not([open])")].filter((details) => details.closest(".plot") === null);

/** Print shows every figure, on white, as wide as a page, and all that is folded away. */
function onPaper(figures, fillers, data) {
  const root = document.documentElement;
  let opened = [];
  const openAll = (isOpen) => opened.forEach((details) => details.toggleAttribute("open", isOpen));
  addEventListener("beforeprint", () => {
    root.classList.add("printing");
    opened = folded();
    openAll(true);
    figures.forEach((figure) => fillFigure(figure, fillers, data));
    resizes.forEach((resize) => resize(PAPER_PX));
    recolor();
  });
  addEventListener("afterprint", () => {
    root.classList.remove("printing");
    openAll(false);
    resizes.forEach((resize) => resize());
    recolor();
  });
}
