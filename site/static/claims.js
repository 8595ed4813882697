// Filters of the table of claims; their state is in the address, so that it can be shared and gone back to.
(() => {
  "use strict";
  const form = document.getElementById("claim-filters");
  const rows = [...document.querySelectorAll("#claims tbody tr")];
  const count = document.getElementById("claim-count");
  const defaults = Object.fromEntries(new FormData(form));

  function read() {
    const given = new URLSearchParams(location.search);
    for (const [name, value] of Object.entries(defaults)) {
      const wanted = given.get(name) ?? value;
      const field = form.elements[name];
      field.value = wanted;
      if (field.value !== wanted) field.value = value;
    }
  }

  function holds(row, now) {
    const of = row.dataset;
    if (now.paper !== "all" && of.paper !== now.paper) return false;
    if (now.whose !== "all" && of.whose !== now.whose) return false;
    if (now.kind !== "all" && of.kind !== now.kind) return false;
    if (now.parts !== "all" && of.parts !== now.parts) return false;
    if ((now.level ?? "all") !== "all" && of.level !== now.level) return false;
    const runs = now.run === "all" ? ["text", "code"] : [now.run];
    if (now.run !== "all" && !of[now.run]) return false;
    if (now.verdict !== "all" && !runs.some((run) => of[run] === now.verdict)) return false;
    const words = now.words.toLowerCase().split(/\s+/).filter(Boolean);
    const text = row.textContent.toLowerCase();
    return words.every((word) => text.includes(word));
  }

  function show() {
    const now = Object.fromEntries(new FormData(form));
    let shown = 0;
    for (const row of rows) {
      row.hidden = !holds(row, now);
      shown += !row.hidden;
    }
    count.textContent = `${shown} of ${rows.length} statements`;
    const state = new URLSearchParams();
    for (const [name, value] of Object.entries(now)) if (value !== defaults[name]) state.set(name, value);
    return state.toString();
  }

  function changed() {
    const state = show();
    history.replaceState(null, "", location.pathname + (state ? "?" + state : "") + location.hash);
  }

  // A click on a head sorts by its column, a second one the other way, a third one as in the papers.
  const heads = [...document.querySelectorAll("#claims thead th")];
  const body = document.querySelector("#claims tbody");
  const key = (row, i) => { const text = row.cells[i].innerText.trim(); return heads[i].dataset.sort === "number" ? -(parseInt(text, 10) || 0) : text; };
  heads.forEach((head, i) => head.querySelector("button").addEventListener("click", () => {
    const now = { none: "ascending", ascending: "descending", descending: "none" }[head.getAttribute("aria-sort")];
    heads.forEach((other) => other.setAttribute("aria-sort", other === head ? now : "none"));
    const keys = new Map(rows.map((row) => [row, key(row, i)]));
    const order = (a, b) => { const [x, y] = [keys.get(a), keys.get(b)]; return (y === "") - (x === "") ? (x === "") - (y === "") : typeof x === "number" ? x - y : x.localeCompare(y, "en", { numeric: true }); };
    const sorted = now === "none" ? rows : [...rows].sort((a, b) => (now === "ascending" ? 1 : -1) * order(a, b));
    body.append(...sorted);
  }));

  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  addEventListener("popstate", () => { read(); show(); });
  read();
  show();
})();
