// What every page does: cards that are linked to are opened, and say their own address to be cited.
(() => {
  "use strict";

  function arrive() {
    const id = decodeURIComponent(location.hash.slice(1));
    const target = id && document.getElementById(id);
    if (!target) return;
    for (let node = target.parentElement; node; node = node.parentElement) {
      if (node.tagName === "DETAILS") node.open = true;
    }
    target.scrollIntoView();
    target.classList.remove("here-now");
    void target.offsetWidth;
    target.classList.add("here-now");
  }

  addEventListener("hashchange", arrive);
  addEventListener("load", arrive);

  for (const place of document.querySelectorAll(".cite-link")) {
    const address = location.href.split("#")[0] + "#" + place.dataset.anchor;
    const link = document.createElement("a");
    link.href = address;
    link.textContent = address;
    place.append(link);
  }
  if (document.querySelector("table.claims")) document.body.classList.add("wide-page");
  if (document.getElementById("claims-data")) document.body.classList.add("claims-page");

  // A figure with rows of panels for text and for code shows both, or one of them alone in the same place.
  for (const place of document.querySelectorAll(".two-runs")) {
    const image = place.querySelector("img"), source = place.querySelector("source");
    const whole = { wide: image.getAttribute("src"), narrow: source?.getAttribute("srcset"), alt: image.alt };
    const names = { "": "text and code", text: "the paper's text", code: "the authors' code" };
    const bar = document.createElement("span");
    bar.className = "which";
    bar.setAttribute("role", "group");
    bar.setAttribute("aria-label", "Which run the figure shows");
    bar.append("Show ");
    for (const [run, words] of Object.entries(names)) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = words;
      button.setAttribute("aria-pressed", String(run === ""));
      button.addEventListener("click", () => {
        const wide = run ? place.dataset[run] : whole.wide;
        if (source) source.srcset = run ? place.dataset[run + "Narrow"] : whole.narrow;
        image.src = wide;
        image.alt = run ? `${whole.alt} (${words} alone)` : whole.alt;
        for (const other of bar.querySelectorAll("button")) other.setAttribute("aria-pressed", String(other === button));
      });
      bar.append(button);
    }
    place.prepend(bar);
    bar.addEventListener("pointerenter", () => {
      for (const name of Object.values(place.dataset)) new Image().src = name; // so that nothing blinks
    }, { once: true });
  }

  // A formula or table that is wider than the text is set smaller, as far as it can be read; what is left scrolls.
  function fit(part) {
    for (const box of part.querySelectorAll("div.math, .table-wrapper, .claims-wrap")) {
      const what = box.querySelector("table") ?? box;
      for (let size = 0.95; size > 0.59 && box.scrollWidth > box.clientWidth; size -= 0.05) {
        what.style.fontSize = "";
        what.style.fontSize = `${size * parseFloat(getComputedStyle(what).fontSize)}px`;
      }
    }
  }
  addEventListener("load", async () => { await window.MathJax?.startup?.promise; fit(document); });
  for (const fold of document.querySelectorAll("details")) fold.addEventListener("toggle", () => fit(fold));

  // wide tables and formulas can be scrolled with the keyboard
  for (const box of document.querySelectorAll(".table-wrapper, div.math, .highlight pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
})();
