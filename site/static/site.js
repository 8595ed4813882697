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

  // wide tables and formulas can be scrolled with the keyboard
  for (const box of document.querySelectorAll(".table-wrapper, div.math, .highlight pre")) {
    if (box.scrollWidth > box.clientWidth) box.tabIndex = 0;
  }
})();
