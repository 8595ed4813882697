// Replays of single runs in plain SVG: buttons and sliders, so that everything works from the keyboard.
(() => {
  "use strict";
  const root = document.getElementById("replay");
  const data = JSON.parse(document.getElementById("replay-data").textContent);
  const SVG = "http://www.w3.org/2000/svg";
  root.querySelector("svg.first").remove();

  function add(parent, name, attributes = {}, text) {
    const node = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }
  function html(parent, name, attributes = {}, text) {
    const node = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== undefined) node.textContent = text;
    parent.append(node);
    return node;
  }
  const percent = (share) => `${Math.round(100 * share)}%`;
  const line = (points) => points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`).join("");
  const say = (x) => String(+x.toPrecision(3)).replace("-", "−");

  // A frame: controls above, a picture, a slider of steps, a sentence.
  function replay({ controls, steps, draw, words, unit, height }) {
    const now = { step: Infinity }; // a replay begins with its end, which is its story
    const bar = html(root, "div", { class: "bar-of" });
    for (const control of controls) {
      now[control.name] = control.start ?? 0;
      const label = html(bar, "label", {}, control.label + " ");
      if (control.slider) {
        const input = html(label, "input", { type: "range", min: 0, max: control.values.length - 1, step: 1, name: control.name });
        input.value = now[control.name];
        const shown = html(label, "output");
        const tell = () => {
          shown.textContent = control.values[now[control.name]];
          input.setAttribute("aria-valuetext", shown.textContent);
        };
        control.tell = tell;
        input.addEventListener("input", () => { now[control.name] = +input.value; tell(); show(); });
        tell();
      } else {
        const input = html(label, "select", { name: control.name });
        control.values.forEach((value, i) => html(input, "option", { value: i }, value));
        input.value = now[control.name];
        input.addEventListener("input", () => { now[control.name] = +input.value; controls.forEach((c) => c.changed?.(now)); show(); });
      }
    }
    const svg = add(root, "svg", { role: "img" });
    const foot = html(root, "div", { class: "bar-of" });
    const back = html(foot, "button", { type: "button", "aria-label": "One step back" }, "‹");
    const play = html(foot, "button", { type: "button" }, "Play");
    const next = html(foot, "button", { type: "button", "aria-label": "One step on" }, "›");
    const label = html(foot, "label", { class: "step" });
    const name = html(label, "span", {}, unit + " ");
    const slider = html(label, "input", { type: "range", min: 0, step: 1, name: "step" });
    const said = html(root, "p", { class: "said", role: "status", "aria-live": "polite" });
    let timer = 0;
    function stop() { clearInterval(timer); timer = 0; play.textContent = "Play"; }
    function go(step) {
      now.step = Math.max(0, Math.min(steps(now) - 1, step));
      show();
    }
    function show() {
      const last = steps(now) - 1;
      now.step = Math.min(now.step, last);
      slider.max = last;
      slider.value = now.step;
      const width = Math.max(300, Math.min(860, root.clientWidth - 34));
      const tall = height(width, now);
      svg.replaceChildren();
      svg.setAttribute("viewBox", `0 0 ${width} ${tall}`);
      draw(svg, now, width, tall);
      said.textContent = words(now);
      svg.setAttribute("aria-label", said.textContent);
      name.textContent = `${unit} ${now.step} of ${last} `;
      slider.setAttribute("aria-valuetext", `${unit} ${now.step} of ${last}`);
    }
    back.addEventListener("click", () => { stop(); go(now.step - 1); });
    next.addEventListener("click", () => { stop(); go(now.step + 1); });
    slider.addEventListener("input", () => { stop(); go(+slider.value); });
    play.addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (now.step >= steps(now) - 1) now.step = 0;
      play.textContent = "Pause";
      const wait = Math.max(60, Math.min(1200, 9000 / steps(now)));
      timer = setInterval(() => { if (now.step >= steps(now) - 1) stop(); else go(now.step + 1); }, wait);
    });
    let before = innerWidth;
    addEventListener("resize", () => { if (innerWidth !== before) { before = innerWidth; show(); } });
    show();
  }

  const REPLAYS = {
    gse() {
      const K = data.arms, low = -2.6, high = 3.4;
      const spent = data.spent;
      replay({
        // the first run that GSE-Lin loses and kept rewards do not
        controls: [{ name: "run", label: "Run", values: data.panels[0].runs.map((_, i) => `number ${i + 1}`), start: Math.max(0, data.panels[0].runs.findIndex((stages, i) => !stages.at(-1).live.includes(data.best) && data.panels[1].runs[i].at(-1).live.includes(data.best))) }],
        steps: () => spent.length,
        unit: "Stage",
        height: (width) => (width < 640 ? 3 * 275 : 268),
        draw(svg, now, width) {
          const narrow = width < 640, w = narrow ? width : (width - 32) / 3;
          data.panels.forEach((panel, p) => {
            const g = add(svg, "g", { transform: narrow ? `translate(0 ${p * 275})` : `translate(${p * (w + 16)} 0)` });
            const state = panel.runs[now.run][now.step], most = data.budget / 2;
            const x = (a) => 10 + ((a + 0.5) / K) * (w - 14), y = (v) => 28 + ((high - Math.max(low, Math.min(high, v))) / (high - low)) * 140;
            add(g, "text", { x: 0, y: 13, class: "title" }, panel.name);
            add(g, "line", { x1: 4, x2: w, y1: y(0), y2: y(0), class: "axis" });
            const live = new Set(state.live), stages = panel.name.startsWith("GSE");
            const top = state.live.reduce((a, b) => (state.means[b] > state.means[a] ? b : a), state.live[0]);
            for (let a = 0; a < K; a++) {
              add(g, "line", { x1: x(a) - 5, x2: x(a) + 5, y1: y(data.means[a]), y2: y(data.means[a]), class: "ink" });
              const bar = Math.min(50, (state.pulls[a] / most) * 50);
              const kind = !live.has(a) ? "grey" : a === data.best ? "blue" : a === K - 1 ? "orange" : "grey dim";
              add(g, "rect", { x: x(a) - 4, width: 8, y: 232 - bar, height: Math.max(0.5, bar), class: kind });
              if (now.step > 0 && live.has(a)) {
                add(g, "circle", { cx: x(a), cy: y(state.means[a]), r: a === top ? 6 : 4, class: a === data.best ? "blue" : a === K - 1 ? "orange" : "grey dim" });
              } else if (now.step > 0) add(g, "text", { x: x(a), y: y(0) - 4, "text-anchor": "middle" }, "×");
            }
            add(g, "text", { x: x(0), y: 246, "text-anchor": "middle" }, "arm 1");
            add(g, "text", { x: x(K - 1), y: 246, "text-anchor": "middle" }, String(K));
            add(g, "text", { x: w / 2, y: 264, "text-anchor": "middle" }, `best arm ${stages ? "live" : "leads"}: ${percent(panel.alive[now.step])} of ${data.counted} runs`);
          });
        },
        words(now) {
          if (now.step === 0) return `${K} arms, ${data.budget} pulls, noise far larger than the gaps. No pull has been made.`;
          const [plain, kept] = data.panels.map((p) => p.runs[now.run][now.step].live.includes(data.best));
          const has = (yes) => (yes ? "still has" : "has lost");
          return `After ${spent[now.step]} pulls: GSE-Lin ${has(plain)} the best arm, GSE-Lin with kept rewards ${has(kept)} it. Over ${data.counted} runs the best arm is live in ${percent(data.panels[0].alive[now.step])} and ${percent(data.panels[1].alive[now.step])}; BayesGap names it in ${percent(data.panels[2].alive[now.step])}.`;
        },
      });
    },

    tree() {
      const slopes = [...new Set(Object.keys(data.runs).filter((k) => k.startsWith("GPTree|lemma1")).map((k) => k.split("|")[2]))];
      const scales = [...new Set(Object.keys(data.runs).filter((k) => k.startsWith("GPOO|lemma1")).map((k) => k.split("|")[2]))];
      const strength = { name: "slope", label: "Slope", slider: true, values: slopes, start: slopes.length - 1 };
      strength.changed = (now) => { strength.values = now.algorithm === 0 ? slopes : scales; strength.tell(); };
      const run = (now) => data.runs[[["GPTree", "GPOO"][now.algorithm], ["lemma1", "as_coded"][now.beta], (now.algorithm === 0 ? slopes : scales)[now.slope]].join("|")];
      const depth = (cell) => Math.floor(Math.log2(cell + 1));
      const place = (cell) => { const h = depth(cell), i = cell + 1 - 2 ** h; return [h, i / 2 ** h, 1 / 2 ** h]; };
      function tree(now) {
        const r = run(now), counts = new Map(), divided = new Set();
        r.divided.slice(0, now.step + 1).forEach((cells) => cells.forEach((c) => divided.add(c)));
        r.asked.slice(0, now.step).forEach((c) => counts.set(c, (counts.get(c) ?? 0) + 1));
        const nodes = [0];
        for (const c of divided) nodes.push(2 * c + 1, 2 * c + 2);
        return { nodes: nodes.filter((c) => c === 0 || divided.has((c - 1) >> 1)), counts, divided, last: r.asked[now.step - 1], r };
      }
      replay({
        controls: [
          { name: "algorithm", label: "Algorithm", values: ["GPTree", "GPOO"] },
          { name: "beta", label: "β of the", values: ["paper's text", "authors' code"] },
          strength,
        ],
        steps: (now) => run(now).asked.length + 1,
        unit: "Evaluation",
        height: () => 340,
        draw(svg, now, width) {
          const { nodes, counts, last, r } = tree(now);
          const x = (v) => 6 + v * (width - 12), y = (v) => 118 - v * 100;
          add(svg, "path", { d: line(data.x.map((v, i) => [x(v), y(data.f[i])])), class: "ink" });
          const deepest = 10, row = Math.min(20, 200 / deepest);
          for (const cell of nodes) {
            const [h, at, size] = place(cell), n = counts.get(cell) ?? 0;
            const box = add(svg, "rect", { x: x(at), width: Math.max(0.7, x(at + size) - x(at) - 0.8), y: 134 + h * row, height: row - 2, class: cell === last ? "orange" : n ? "blue" : "cell" });
            if (cell !== last && n) box.style.opacity = String(Math.min(1, 0.25 + n / 12));
          }
          if (now.step === r.asked.length) {
            const [, at, size] = place(r.answer), mid = at + size / 2;
            add(svg, "line", { x1: x(mid), x2: x(mid), y1: 6, y2: 124, class: "orange-line" });
            add(svg, "text", { x: x(mid) + (mid > 0.7 ? -6 : 6), y: 14, "text-anchor": mid > 0.7 ? "end" : "start" }, `answer: f = ${say(r.value)}, peak ${say(data.peak)}`);
          }
        },
        words(now) {
          const { nodes, counts, divided, r } = tree(now);
          const leaves = nodes.filter((c) => !divided.has(c));
          const shape = new Set(leaves.map(depth)).size === 1 ? `a grid of ${leaves.length} equal cells` : `a tree with ${leaves.length} leaves`;
          const end = now.step === r.asked.length ? ` The search answers with a cell in which f is ${say(r.value)}; the peak is ${say(data.peak)}.` : "";
          return `After ${now.step} evaluations of ${counts.size} different cells: ${leaves.length === 1 ? "one undivided cell" : shape}.${end}`;
        },
      });
    },

    oae() {
      const strengths = Object.keys(data.runs).sort((a, b) => a - b);
      const order = [...data.truth].sort((a, b) => b - a), goal = order[Math.max(0, Math.ceil(order.length / 100) - 1)];
      const peak = data.truth.indexOf(order[0]);
      const seen = (now) => data.runs[strengths[now.strength]].slice(0, now.step);
      replay({
        controls: [{ name: "strength", label: "Optimism λ", slider: true, values: strengths.map((s) => (s === "0" ? "0 (Greedy)" : s)), start: strengths.indexOf("0.1") }],
        steps: () => data.batches + 1,
        unit: "Batch",
        height: () => 300,
        draw(svg, now, width) {
          const x = (v) => 8 + ((v + 10) / 20) * (width - 16), y = (v) => 250 - Math.max(-0.35, Math.min(1.6, v)) * 145;
          for (const c of data.centres) add(svg, "rect", { x: x(c - 0.9), width: x(c + 0.9) - x(c - 0.9), y: 8, height: 286, class: "band" });
          add(svg, "line", { x1: 4, x2: width, y1: y(0), y2: y(0), class: "axis" });
          add(svg, "path", { d: line(data.x.map((v, i) => [x(v), y(data.truth[i])])), class: "axis truth" });
          const steps = seen(now), last = steps[steps.length - 1];
          if (last) {
            const model = data.at.map((p, i) => [data.x[p], last.model[i]]).filter(([, v]) => v !== null);
            if (model.length) add(svg, "path", { d: line(model.map(([a, b]) => [x(a), y(b)])), class: "blue-line" });
          }
          steps.forEach((step, i) => step.new.forEach((arm) => add(svg, "circle", { cx: x(data.x[arm]), cy: y(data.truth[arm]), r: i === steps.length - 1 ? 5.5 : 3.5, class: i === steps.length - 1 ? "orange" : "grey dim" })));
          add(svg, "text", { x: x(data.x[peak]), y: 20, "text-anchor": "middle" }, "peak");
        },
        words(now) {
          if (now.step === 0) return "Nothing is measured. The first batch is random.";
          const arms = seen(now).flatMap((s) => s.new);
          const hills = data.centres.filter((c) => arms.some((a) => Math.abs(data.x[a] - c) <= 0.9)).length;
          const first = seen(now).findIndex((s) => s.new.some((a) => data.truth[a] >= goal));
          const found = first < 0 ? "No arm of the top 1% has been found." : `An arm of the top 1% was found in batch ${first + 1}.`;
          return `After ${arms.length} arms: ${hills} of 4 hills have been visited. ${found}`;
        },
      });
    },

    topm() {
      // rounds: pulls, pair b and c, answer J, index of the pair chosen now, index of this pair after the pull
      const name = (a) => `arm ${a + 1}`;
      const run = (now) => data.runs[now.run];
      replay({
        controls: [{ name: "run", label: "Run", values: data.runs.map((r, i) => `number ${r.run + 1}${i ? ", stale answer wrong" : ""}`), start: Math.min(1, data.runs.length - 1) }],
        steps: (now) => run(now).rounds.length,
        unit: "Step",
        height: (width) => (width < 640 ? 480 : 240),
        draw(svg, now, width) {
          const r = run(now), narrow = width < 640, w = narrow ? width : (width - 30) / 2;
          const at = r.stale ?? r.rounds.length - 1;
          const parts = [r.rounds.map((_, i) => i), r.rounds.map((_, i) => i).filter((i) => Math.abs(r.rounds[i][0] - r.rounds[at][0]) <= 30)];
          parts.forEach((shown, p) => {
            const g = add(svg, "g", { transform: p ? (narrow ? "translate(0 240)" : `translate(${w + 30} 0)`) : "" });
            const rows = shown.map((i) => r.rounds[i]).filter((row) => row[4] !== null);
            const values = rows.flatMap((row) => [row[4], row[5]]).filter((v) => v !== null);
            const high = p ? Math.max(...values) : Math.min(3, Math.max(...values)), low = Math.min(0, ...values) - 0.04 * high;
            const from = rows[0][0], to = rows[rows.length - 1][0];
            const x = (t) => 34 + ((t - from) / (to - from || 1)) * (w - 40), y = (v) => 24 + ((high - Math.min(high, Math.max(low, v))) / (high - low)) * 175;
            add(g, "text", { x: 0, y: 12, class: "title" }, p ? "Around the stale stop" : "The whole run");
            add(g, "line", { x1: 34, x2: w, y1: y(0), y2: y(0), class: "ink" });
            add(g, "text", { x: 28, y: y(0) + 4, "text-anchor": "end" }, "0");
            add(g, "text", { x: 28, y: y(high) + 4, "text-anchor": "end" }, say(high));
            add(g, "text", { x: 34, y: 228 }, `${from}`);
            add(g, "text", { x: w, y: 228, "text-anchor": "end" }, `${to} pulls`);
            const gone = rows.filter((row) => row[0] <= r.rounds[now.step][0]);
            add(g, "path", { d: line(gone.map((row) => [x(row[0]), y(row[4])])), class: "blue-line" });
            add(g, "path", { d: line(gone.filter((row) => row[5] !== null).map((row) => [x(row[0]), y(row[5])])), class: "orange-line thin" });
            if (r.stale !== null && now.step >= r.stale) {
              const row = r.rounds[r.stale];
              add(g, "circle", { cx: x(row[0]), cy: y(row[5]), r: 5.5, class: "orange" });
            }
          });
        },
        words(now) {
          const r = run(now), [t, b, c, best, index, stale] = r.rounds[now.step];
          if (index === null || b < 0) return "No pull has been made.";
          const open = `After ${t} pulls the doubtful pair is ${name(b)} and ${name(c)}, with index ${say(index)}; the answer would be ${name(best)}.`;
          if (r.stale !== null && now.step === r.stale) return `${open} After one more pull the index of this old pair is ${say(stale)}: the stale rule stops and returns ${name(best)}, which is ${best === data.best ? "right" : "wrong"}.`;
          if (now.step === r.rounds.length - 1) return `${open} The rule of the paper stops here; the stale rule stopped after ${r.stale === null ? t : r.rounds[r.stale][0] + 1} pulls. In the first ${data.of} runs the stale rule is wrong ${data.wrong} times.`;
          return open;
        },
      });
    },
  };
  REPLAYS[root.dataset.replay]();
})();
