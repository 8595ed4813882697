// The picture of each claim: every comparison as a dot with its interval, and a margin that can be moved.
(() => {
  "use strict";
  const data = JSON.parse(document.getElementById("claims-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";

  function make(name, attributes, parent, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  function element(name, attributes, parent, text) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    if (parent) parent.append(node);
    return node;
  }

  const say = (x) => {
    const size = Math.abs(x);
    const text = size !== 0 && (size < 0.001 || size >= 1e5) ? x.toExponential(1) : String(+x.toPrecision(3));
    return text.replace("-", "−");
  };

  // Whether a comparison is for the claim at a margin, by its interval.
  function state(dot, claim, margin) {
    const low = dot.low ?? -Infinity, high = dot.high ?? Infinity;
    if (claim.relation === "below") return high < margin ? "for" : low > margin ? "against" : "open";
    if (claim.relation === "within") {
      const other = claim.log ? 1 / margin : claim.centre * 2 - margin;
      const from = Math.min(other, margin), to = Math.max(other, margin);
      return low > from && high < to ? "for" : high < from || low > to ? "against" : "open";
    }
    const above = claim.relation === "at_least" ? low >= margin : low > margin;
    return above ? "for" : high < margin ? "against" : "open";
  }

  // What lies on the two sides of the margin: for the claim or against it; of a range both sides are against.
  function sidesOf(claim) {
    if (claim.relation === "within") return ["against the claim", "against the claim"];
    return claim.relation === "below" ? ["better: for the claim", "worse: against it"] : ["worse: against the claim", "better: for it"];
  }

  // What all names of comparisons begin or end with is said once.
  function apart(names) {
    const words = names.map((name) => name.split(/(?<=[,:] |against )/));
    const same = (i, from) => words.every((w) => w.length > i + 1 && (from ? w.at(-1 - i) : w[i]) === (from ? words[0].at(-1 - i) : words[0][i]));
    let head = 0, tail = 0;
    while (names.length > 1 && same(head, false)) head++;
    while (names.length > 1 && words.every((w) => w.length > head + tail + 1) && same(tail, true)) tail++;
    return words.map((w) => w.slice(head, w.length - tail).join("").replace(/(,|:| against) $/, ""));
  }
  // A comparison's name in the room that there is.
  const short = (name, width) => { const most = Math.floor(width / 6.2); return name.length > most ? `${name.slice(0, most - 1)}…` : name; };

  const table = (claim) => ["comparison,effect,low,high,n,state"]
    .concat(claim.dots.map((d) => [`"${d.name.replaceAll('"', '""')}"`, d.effect, d.low ?? "", d.high ?? "", d.n, d.state].join(","))).join("\n") + "\n";

  function ticks(from, to, log) {
    if (log) {
      const found = [];
      for (let e = Math.floor(Math.log10(from)); e <= Math.ceil(Math.log10(to)); e++) {
        for (const m of [1, 2, 5]) { const v = m * 10 ** e; if (v >= from && v <= to) found.push(v); }
      }
      if (found.length >= 3) return found.length > 8 ? found.filter((v) => /^1/.test(v.toExponential())) : found;
    }
    const raw = (to - from) / 5, base = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((m) => m * base).find((s) => s >= raw);
    const found = [];
    for (let v = Math.ceil(from / step) * step; v <= to + step * 1e-9; v += step) found.push(Math.abs(v) < step * 1e-6 ? 0 : v);
    return found;
  }

  function draw(place) {
    const claim = data[place.dataset.key];
    const log = claim.log && claim.dots.every((d) => d.effect > 0);
    const claimed = claim.relation === "below" || claim.relation === "within" ? claim.margin_high : claim.margin_low;
    if (claim.relation === "within") claim.centre = claim.log ? 1 : (claim.margin_low + claim.margin_high) / 2;
    claim.log = log;
    const dots = [...claim.dots].sort((a, b) => a.effect - b.effect);
    const width = Math.max(300, Math.min(760, place.clientWidth || 640));
    const row = Math.max(4, Math.min(18, 330 / dots.length)), named = dots.length > 1 && dots.length <= 12 && width > 480;
    const height = Math.max(34, (named ? 28 : row) * dots.length), top = 18, bottom = 42, side = 14;

    // The axis shows every effect and the margin; an interval far beyond them is cut.
    const seen = dots.flatMap((d) => [d.effect, d.low ?? d.effect, d.high ?? d.effect]).concat(claimed, claim.margin_low ?? [], claim.margin_high ?? []);
    const f = log ? Math.log : (x) => x, g = log ? Math.exp : (x) => x;
    const effects = dots.map((d) => f(d.effect)).concat(f(claimed)).filter(Number.isFinite);
    const reach = Math.max(...effects) - Math.min(...effects) || Math.abs(effects[0]) * 0.2 || 1;
    const finite = seen.filter((v) => v !== null && Number.isFinite(f(v))).map(f);
    let from = Math.max(Math.min(...finite), Math.min(...effects) - reach), to = Math.min(Math.max(...finite), Math.max(...effects) + reach);
    const pad = (to - from) * 0.06 || 1;
    from -= pad; to += pad;
    const x = (v) => side + ((Math.min(Math.max(f(v), from), to) - from) / (to - from)) * (width - 2 * side);
    const back = (px) => g(from + ((px - side) / (width - 2 * side)) * (to - from));

    place.replaceChildren();
    const unit = claim.ranks ? "rank" : claim.unit.replace(/^share of the cells that are as claimed \((difference|ratio) [^()]*\) in (.*)$/, "$1 of $2");
    element("p", { class: "plot-of" }, place, unit[0].toUpperCase() + unit.slice(1));
    const svg = make("svg", { viewBox: `0 0 ${width} ${top + height + bottom}`, role: "img" }, place);
    const zone = make("rect", { class: "zone", y: top, height }, svg);
    const marksOf = ticks(g(from), g(to), log);
    for (const v of claim.ranks ? marksOf.filter(Number.isInteger) : marksOf) {
      make("line", { class: "grid", x1: x(v), x2: x(v), y1: top, y2: top + height }, svg);
      make("text", { x: x(v), y: top + height + 16, "text-anchor": "middle" }, svg, say(v));
    }
    make("line", { class: "set", x1: x(claimed), x2: x(claimed), y1: top, y2: top + height }, svg);
    const names = apart(dots.map((dot) => dot.name));
    const marks = dots.map((dot, i) => {
      const y = top + (height / dots.length) * (i + (named ? 0.72 : 0.5));
      const group = make("g", { class: "row" }, svg);
      make("rect", { class: "hit", x: 0, width, y: y - height / dots.length / 2, height: height / dots.length }, group);
      if (dot.low !== dot.high) make("line", { class: "interval", x1: x(dot.low ?? -1e300), x2: x(dot.high ?? 1e300), y1: y, y2: y }, group);
      const r = Math.min(4.2, Math.max(2.4, row / 2.6));
      const mark = make("circle", { class: "mark", cx: x(dot.effect), cy: y, r }, group);
      const words = `${dot.name}: ${say(dot.effect)}` + (dot.low !== dot.high && dot.low !== null && dot.high !== null ? ` [${say(dot.low)}, ${say(dot.high)}]` : "") + `, n = ${dot.n}`;
      make("title", {}, group, words);
      if (named) make("text", { class: "dot-name", x: side, y: y - 9 }, group, short(names[i], width));
      group.addEventListener("pointerenter", () => { name.textContent = words; });
      return { dot, group, mark };
    });
    const [left, right] = sidesOf(claim);
    make("text", { x: side, y: top + height + 34 }, svg, left && `← ${left}`);
    make("text", { x: width - side, y: top + height + 34, "text-anchor": "end" }, svg, right && `${right} →`);
    const line = make("line", { class: "margin-line", y1: top - 4, y2: top + height }, svg);
    const mirror = claim.relation === "within" ? make("line", { class: "margin-line", y1: top - 4, y2: top + height }, svg) : null;
    const handle = make("circle", { class: "handle", cy: top - 8, r: 7 }, svg);

    const name = element("p", { class: "plot-name", "aria-hidden": "true" }, place, dots.length > 1 ? "Point at a comparison to read its name." : dots[0].name);
    const controls = element("div", { class: "plot-controls" }, place);
    const label = element("label", {}, controls, "Margin ");
    const steps = 400;
    const slider = element("input", { type: "range", min: 0, max: steps, step: 1 }, controls);
    slider.id = "margin-" + place.dataset.key.replace(/[^\w-]/g, "-");
    label.htmlFor = slider.id;
    const reset = element("button", { type: "button" }, controls, "As set");
    const said = element("p", { class: "plot-said", role: "status" }, place);
    const csv = element("a", { class: "plot-csv", download: `${place.dataset.key.replace("|", "_")}.csv` }, place, "These comparisons as CSV");
    csv.addEventListener("click", () => { csv.href = URL.createObjectURL(new Blob([table(claim)], { type: "text/csv" })); });
    csv.href = "#";

    const ahead = (effect) => (claim.relation === "below" ? effect < claimed : claim.relation === "at_least" ? effect >= claimed : effect > claimed);
    function move(margin, exact) {
      const shown = exact ? claimed : margin;
      line.setAttribute("x1", x(shown)); line.setAttribute("x2", x(shown)); handle.setAttribute("cx", x(shown));
      let a = side, b = width - side;
      if (claim.relation === "below") b = x(shown);
      else if (mirror) {
        const other = claim.log ? 1 / shown : 2 * claim.centre - shown;
        mirror.setAttribute("x1", x(other)); mirror.setAttribute("x2", x(other));
        a = Math.min(x(other), x(shown)); b = Math.max(x(other), x(shown));
      } else a = x(shown);
      zone.setAttribute("x", a); zone.setAttribute("width", Math.max(0, b - a));
      const counts = { for: 0, open: 0, against: 0 };
      for (const { dot, group, mark } of marks) {
        const now = exact ? dot.state : state(dot, claim, shown);
        counts[now]++;
        const cls = now === "open" ? "undecided" : now;
        mark.setAttribute("class", "mark " + cls);
        group.querySelector(".interval")?.setAttribute("class", "interval " + cls);
      }
      const word = claim.counts ? (dots.length === 1 ? "cell" : "cells") : dots.length === 1 ? "comparison" : "comparisons";
      const where = exact ? "At the margin that was set" : `With the margin at ${say(shown)} (set: ${say(claimed)})`;
      const held = claim.counts && !claim.ranks && exact ? ` (by their estimates ${dots.filter((d) => ahead(d.effect)).length})` : "";
      const needs = claim.need && dots.length > 1 ? ` The claim needs ${claim.need}.` : "";
      said.textContent = `${where}: ${counts.for} of ${dots.length} ${word} significantly for the claim${held}, ${counts.open} open, ${counts.against} against.${needs}`;
      slider.setAttribute("aria-valuetext", say(shown));
      svg.setAttribute("aria-label", said.textContent);
    }
    const toSlider = (v) => Math.round(((f(v) - from) / (to - from)) * steps);
    const fromSlider = (s) => g(from + (s / steps) * (to - from));
    slider.value = toSlider(claimed);
    move(claimed, true);
    slider.addEventListener("input", () => move(fromSlider(+slider.value), false));
    reset.addEventListener("click", () => { slider.value = toSlider(claimed); move(claimed, true); });
    handle.addEventListener("pointerdown", (event) => {
      handle.setPointerCapture(event.pointerId);
      const follow = (e) => {
        const box = svg.getBoundingClientRect();
        const v = back(Math.min(Math.max(((e.clientX - box.left) / box.width) * width, side), width - side));
        slider.value = toSlider(v);
        move(v, false);
      };
      handle.addEventListener("pointermove", follow);
      handle.addEventListener("pointerup", () => handle.removeEventListener("pointermove", follow), { once: true });
    });
  }

  // Pictures are drawn when they come near the view, and again when the width changes.
  const watch = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (entry.isIntersecting && entry.target.clientWidth && !entry.target.firstChild) draw(entry.target);
    }
  }, { rootMargin: "600px" });
  const plots = [...document.querySelectorAll(".plot")];
  plots.forEach((plot) => watch.observe(plot));
  let before = innerWidth;
  addEventListener("resize", () => {
    if (innerWidth === before) return;
    before = innerWidth;
    for (const plot of plots) if (plot.firstChild) draw(plot);
  });

  // Text or code, on all cards; kept for the next page.
  const bodies = [...document.querySelectorAll(".card-body")];
  function choose(convention) {
    for (const body of bodies) {
      const panels = [...body.querySelectorAll(".panel")];
      const there = panels.some((p) => p.dataset.convention === convention);
      body.classList.add("one");
      for (const panel of panels) {
        panel.hidden = panels.length > 1 && there && panel.dataset.convention !== convention;
        if (!panel.hidden) panel.querySelectorAll(".plot").forEach((plot) => { watch.unobserve(plot); watch.observe(plot); });
      }
    }
    for (const button of document.querySelectorAll(".switch-bar button")) {
      button.setAttribute("aria-pressed", String(button.dataset.convention === convention));
    }
    try { localStorage.setItem("bestarm-run", convention); } catch { /* a page without storage */ }
  }
  for (const button of document.querySelectorAll(".switch-bar button")) {
    button.addEventListener("click", () => choose(button.dataset.convention));
  }
  let kept = null;
  try { kept = localStorage.getItem("bestarm-run"); } catch { /* a page without storage */ }
  choose(new URLSearchParams(location.search).get("run") === "code" ? "as_coded" : kept ?? "as_written");
})();
