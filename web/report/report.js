// Draws a report (src/report/document.h) from the JSON in the page: text, tables, plots and timelines.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const SIZE = { width: 560, height: 300, left: 58, right: 14, top: 10, bottom: 40 };
const KINDS = ["waiting", "prefill", "decode", "failed"];
const report = JSON.parse(document.getElementById("data").textContent);

function make(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  element.append(...children);
  return element;
}

function draw(name, attributes = {}, text) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  if (text !== undefined) element.textContent = text;
  return element;
}

// One colour a name, the same in every plot.
const colours = new Map();
function colour(name) {
  if (!colours.has(name)) colours.set(name, `var(--c${colours.size % 8})`);
  return colours.get(name);
}

function short(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 1e6) return `${+(value / 1e6).toPrecision(3)}M`;
  if (size >= 1e4) return `${+(value / 1e3).toPrecision(3)}k`;
  return String(+value.toPrecision(size >= 100 ? 4 : 3));
}

// Maps values to pixels, and knows where its ticks are.
function scale(low, high, log, from, to, wanted) {
  if (log) {
    low = Math.log10(low);
    high = Math.log10(high);
  }
  if (high - low < 1e-9) high = low + (log ? 1 : Math.max(Math.abs(low), 1) * 0.1);
  const at = (value) => {
    const place = log ? Math.log10(Math.max(value, 1e-12)) : value;
    return from + ((Math.min(Math.max(place, low), high) - low) / (high - low)) * (to - from);
  };
  const ticks = [];
  if (log) {
    const steps = high - low > 2.5 ? [1] : high - low > 1 ? [1, 2, 5] : [1, 2, 3, 5, 7];
    for (let power = Math.floor(low); power <= high; ++power) {
      for (const step of steps) {
        const value = step * 10 ** power;
        if (value >= 10 ** low * 0.999 && value <= 10 ** high * 1.001) ticks.push(value);
      }
    }
  }
  if (ticks.length < 3) {  // a narrow range, or no logarithm
    ticks.length = 0;
    const [first, last] = log ? [10 ** low, 10 ** high] : [low, high];
    const rough = (last - first) / wanted;
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 2.5, 5, 10].map((factor) => factor * power).find((size) => size >= rough);
    for (let value = Math.ceil(first / step) * step; value <= last + step * 1e-6; value += step) ticks.push(value);
  }
  const invert = (pixel) => {
    const place = low + ((pixel - from) / (to - from)) * (high - low);
    return log ? 10 ** place : place;
  };
  return { at, ticks, invert };
}

function range(values, log) {
  const good = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  if (good.length === 0) return [log ? 1 : 0, log ? 10 : 1];
  let low = Infinity;
  let high = -Infinity;
  for (const value of good) {
    low = Math.min(low, value);
    high = Math.max(high, value);
  }
  if (!log && low > 0 && low < high * 0.7) low = 0;
  return [low, high];
}

function frame(svg, x, y, plot) {
  const { width, height, left, right, top, bottom } = SIZE;
  for (const tick of y.ticks) {
    const at = y.at(tick);
    svg.append(draw("line", { class: "grid", x1: left, x2: width - right, y1: at, y2: at }));
    svg.append(draw("text", { class: "tick", x: left - 6, y: at + 4, "text-anchor": "end" }, short(tick)));
  }
  for (const tick of x.ticks) {
    const at = x.at(tick);
    svg.append(draw("line", { class: "grid", x1: at, x2: at, y1: top, y2: height - bottom }));
    svg.append(draw("text", { class: "tick", x: at, y: height - bottom + 16, "text-anchor": "middle" }, short(tick)));
  }
  svg.append(draw("text", { class: "label", x: (left + width - right) / 2, y: height - 6, "text-anchor": "middle" }, plot.x));
  const middle = (top + height - bottom) / 2;
  svg.append(draw("text", { class: "label", x: 12, y: middle, "text-anchor": "middle", transform: `rotate(-90 12 ${middle})` }, plot.y));
}

function path(line, x, y) {
  let out = "";
  let before = 0;
  for (const [px, py] of line.points) {
    const to = `${x.at(px).toFixed(1)} ${y.at(py).toFixed(1)}`;
    if (out === "") out = `M${to}`;
    else if (line.style === "step") out += `L${x.at(px).toFixed(1)} ${before.toFixed(1)}L${to}`;
    else out += `L${to}`;
    before = y.at(py);
  }
  return out;
}

function drawLine(line, x, y) {
  const group = draw("g");
  if (line.style === "dots") {
    for (const [px, py] of line.points) {
      group.append(draw("circle", { cx: x.at(px), cy: y.at(py), r: 2.5, fill: colour(line.name), "fill-opacity": 0.65 }));
    }
  } else {
    const dashed = line.style === "dashed" ? " dashed" : "";
    group.append(draw("path", { class: `curve${dashed}`, d: path(line, x, y), stroke: colour(line.name) }));
    if (line.points.length < 13) {
      for (const [px, py] of line.points) group.append(draw("circle", { cx: x.at(px), cy: y.at(py), r: 3, fill: colour(line.name) }));
    }
  }
  return group;
}

function legend(lines, groups) {
  const box = make("div", { class: "legend" });
  lines.forEach((line, index) => {
    const key = make("i", line.style === "dashed" ? { class: "dashed-key" } : {});
    key.style.borderColor = colour(line.name);
    const button = make("button", { type: "button", "aria-pressed": "true" }, key, line.style === "dashed" ? `${line.name} (simulated)` : line.name);
    button.addEventListener("click", () => {
      const shown = button.getAttribute("aria-pressed") === "true";
      button.setAttribute("aria-pressed", String(!shown));
      groups[index].style.display = shown ? "none" : "";
    });
    box.append(button);
  });
  return box;
}

const tip = make("div", { class: "tip" });
tip.hidden = true;
document.body.append(tip);

function showTip(event, rows) {
  tip.replaceChildren(...rows.map((row) => make("div", {}, ...row)));
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  tip.style.left = `${Math.min(event.clientX + 14, innerWidth - box.width - 8)}px`;
  tip.style.top = `${Math.min(event.clientY + 14, innerHeight - box.height - 8)}px`;
}

function nearest(points, value) {
  let low = 0;
  let high = points.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (points[middle][0] <= value) low = middle;
    else high = middle;
  }
  return Math.abs(points[low][0] - value) <= Math.abs(points[high][0] - value) ? points[low] : points[high];
}

// The values of all lines where the pointer is.
function hover(svg, plot, x, groups) {
  const hair = draw("line", { class: "hair", y1: SIZE.top, y2: SIZE.height - SIZE.bottom });
  svg.append(hair);
  svg.addEventListener("pointermove", (event) => {
    const box = svg.getBoundingClientRect();
    const pixel = ((event.clientX - box.left) / box.width) * SIZE.width;
    const value = x.invert(Math.min(Math.max(pixel, SIZE.left), SIZE.width - SIZE.right));
    hair.setAttribute("x1", x.at(value));
    hair.setAttribute("x2", x.at(value));
    hair.style.visibility = "visible";
    const rows = [];
    plot.lines.forEach((line, index) => {
      if (line.points.length === 0 || line.style === "dots" || groups[index].style.display === "none") return;
      const [px, py] = nearest(line.points, value);
      rows.push([make("b", {}, line.name), ` ${short(px)} : ${short(py)}`]);
    });
    if (rows.length > 0) showTip(event, rows);
  });
  svg.addEventListener("pointerleave", () => {
    hair.style.visibility = "hidden";
    tip.hidden = true;
  });
}

function plotFigure(plot) {
  const svg = draw("svg", { viewBox: `0 0 ${SIZE.width} ${SIZE.height}`, role: "img", "aria-label": plot.title });
  const all = plot.lines.flatMap((line) => line.points);
  const marks = plot.marks.filter((mark) => !((mark.vertical ? plot.xlog : plot.ylog) && mark.at <= 0));
  const xs = all.map((point) => point[0]).concat(marks.filter((mark) => mark.vertical).map((mark) => mark.at));
  const ys = all.map((point) => point[1]).concat(marks.filter((mark) => !mark.vertical).map((mark) => mark.at));
  const x = scale(...range(xs, plot.xlog), plot.xlog, SIZE.left, SIZE.width - SIZE.right, 7);
  const y = scale(...range(ys, plot.ylog), plot.ylog, SIZE.height - SIZE.bottom, SIZE.top, 5);
  frame(svg, x, y, plot);
  const groups = plot.lines.map((line) => drawLine(line, x, y));
  svg.append(...groups);
  for (const mark of marks) {
    const at = mark.vertical ? x.at(mark.at) : y.at(mark.at);
    const ends = mark.vertical ? { x1: at, x2: at, y1: SIZE.top, y2: SIZE.height - SIZE.bottom } : { x1: SIZE.left, x2: SIZE.width - SIZE.right, y1: at, y2: at };
    svg.append(draw("line", { class: "mark", ...ends }));
    const place = mark.vertical ? { x: at - 4, y: SIZE.top + 10, "text-anchor": "end" } : { x: SIZE.width - SIZE.right - 4, y: at - 4, "text-anchor": "end" };
    svg.append(draw("text", { class: "mark-label", ...place }, mark.label));
  }
  hover(svg, plot, x, groups);
  return make("figure", {}, make("h3", {}, plot.title), svg, legend(plot.lines, groups));
}

function timelineFigure(timeline) {
  const rowHeight = Math.max(2, Math.min(14, 420 / Math.max(timeline.rows.length, 1)));
  const width = 1160;
  const height = timeline.rows.length * rowHeight + 50;
  const svg = draw("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": timeline.title });
  const ends = timeline.rows.flatMap((row) => row.spans.map((span) => span[1]));
  const x = scale(0, range(ends, false)[1], false, 10, width - 10, 12);
  for (const tick of x.ticks) {
    svg.append(draw("line", { class: "grid", x1: x.at(tick), x2: x.at(tick), y1: 0, y2: height - 40 }));
    svg.append(draw("text", { class: "tick", x: x.at(tick), y: height - 24, "text-anchor": "middle" }, short(tick)));
  }
  svg.append(draw("text", { class: "label", x: width / 2, y: height - 6, "text-anchor": "middle" }, timeline.x));
  timeline.rows.forEach((row, index) => {
    const group = draw("g");
    for (const [begin, end, kind] of row.spans) {
      group.append(draw("rect", { x: x.at(begin), y: index * rowHeight, width: Math.max(x.at(end) - x.at(begin), 0.7), height: Math.max(rowHeight - 1, 1), fill: `var(--${KINDS[kind]})` }));
    }
    group.addEventListener("pointermove", (event) => showTip(event, [[make("b", {}, row.label)], ...row.spans.map(([begin, end, kind]) => [`${KINDS[kind]} ${short(begin)} to ${short(end)}`])]));
    group.addEventListener("pointerleave", () => { tip.hidden = true; });
    svg.append(group);
  });
  const keys = KINDS.map((kind) => {
    const block = make("i", { class: "block" });
    block.style.background = `var(--${kind})`;
    return make("button", { type: "button" }, block, kind);
  });
  return make("figure", { class: "wide" }, make("h3", {}, timeline.title), svg, make("div", { class: "legend" }, ...keys));
}

const isNumber = (text) => /^[-+<>≤≥≈]?\s?[\d.,]+(e[-+]?\d+)?\s?(%|ns|us|ms|s|x|\/s|tok\/s|KiB|MiB|GiB)?$/.test(text) || text === "" || text === "–";

function tableBox(table) {
  const numeric = table.head.map((_, column) => column > 0 && table.rows.every((row) => isNumber(row[column] ?? "")));
  const cells = (row, name) => row.map((text, column) => make(name, numeric[column] ? { class: "number" } : {}, text));
  const body = table.rows.map((row) => make("tr", {}, ...cells(row, "td")));
  const inner = make("table", {}, make("thead", {}, make("tr", {}, ...cells(table.head, "th"))), make("tbody", {}, ...body));
  return make("div", { class: "table" }, ...(table.title ? [make("h3", {}, table.title)] : []), inner);
}

function textBox(part) {
  if (part.kind === "heading") return make("h2", {}, part.text);
  if (part.kind === "code") return make("pre", {}, part.text);
  return make("p", part.kind === "plain" ? {} : { class: part.kind }, part.text);
}

document.title = report.title;
const main = document.getElementById("report");
main.append(make("h1", {}, report.title), make("p", { class: "subtitle" }, report.subtitle));
let plots = null;  // plots that follow one another stand side by side
for (const part of report.parts) {
  const drawn = part.is === "plot" || part.is === "timeline";
  if (!drawn) {
    plots = null;
    main.append(part.is === "table" ? tableBox(part) : textBox(part));
    continue;
  }
  if (plots === null) main.append((plots = make("div", { class: "plots" })));
  plots.append(part.is === "plot" ? plotFigure(part) : timelineFigure(part));
}
