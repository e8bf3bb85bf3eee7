"use strict";
// Rows are in the order of the tree, so that what lies inside of a row follows it: one pass shows or hides them all.
(() => {
  const LARGE = 200; // stages, of which nobody wants to see all at once
  const rows = [...document.querySelectorAll("tbody tr")];
  const level = rows.map((row) => Number(row.getAttribute("aria-level")));
  const parent = new Int32Array(rows.length).fill(-1);
  const end = new Int32Array(rows.length).fill(rows.length); // the first row that is not inside of this one
  const above = [];
  rows.forEach((row, index) => {
    while (above.length && level[above.at(-1)] >= level[index]) end[above.pop()] = index;
    if (above.length) parent[index] = above.at(-1);
    above.push(index);
    row.dataset.index = index;
  });
  const inner = (index) => end[index] > index + 1;

  const search = document.getElementById("search");
  const found = document.getElementById("found");
  const details = document.getElementById("details");
  const heads = document.querySelectorAll("thead th");
  const folded = new Uint8Array(rows.length);
  const foldedFound = new Uint8Array(rows.length); // a search opens what it finds, and leaves the tree as it was
  const hit = new Uint8Array(rows.length).fill(1);
  const kept = new Uint8Array(rows.length).fill(1); // what was found, and what is around it
  let terms = [];
  let texts; // made at the first search
  let current = 0; // the row that Tab leads to
  let chosen = -1; // the row whose details are shown

  const folds = () => (terms.length ? foldedFound : folded);

  function draw() {
    const now = folds();
    let until = 0; // rows before this one lie in a folded one
    rows.forEach((row, index) => {
      const shown = Boolean(kept[index]) && index >= until;
      if (row.hidden === shown) row.hidden = !shown;
      if (!shown) return;
      row.classList.toggle("around", !hit[index]);
      if (!inner(index)) return;
      row.setAttribute("aria-expanded", String(!now[index]));
      if (now[index]) until = end[index];
    });
    if (rows.length && rows[current].hidden) point(Math.max(0, rows.findIndex((row) => !row.hidden)));
  }

  function find() {
    terms = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    // Without spaces, cell by cell: `f32[8, 4]` is written in several ways, and on several lines.
    texts ??= rows.map((row) =>
      Array.from(row.querySelectorAll("[data-find]"), (cell) => cell.textContent.replace(/\s+/g, "")).join("\n").toLowerCase(),
    );
    kept.fill(0);
    let many = 0;
    for (let index = rows.length - 1; index >= 0; index--) {
      hit[index] = terms.every((term) => texts[index].includes(term)) ? 1 : 0;
      many += hit[index];
      kept[index] |= hit[index];
      if (kept[index] && parent[index] >= 0) kept[parent[index]] = 1;
    }
    foldedFound.fill(0);
    found.textContent = terms.length ? `${many} of ${rows.length} stages` : "";
    draw();
  }

  function fold(index, shut) {
    if (!inner(index)) return;
    folds()[index] = shut ? 1 : 0;
    draw();
  }

  function foldAll(shut) {
    const now = folds();
    rows.forEach((_, index) => (now[index] = shut && inner(index) ? 1 : 0));
    draw();
  }

  function point(index, focus = false) {
    rows[current].tabIndex = -1;
    current = index;
    rows[index].tabIndex = 0;
    if (!focus) return;
    rows[index].focus();
    if (chosen >= 0) choose(index); // the details follow the keys
  }

  /** Shows the details of a row, or none for -1. */
  function choose(index) {
    rows[chosen]?.removeAttribute("aria-selected");
    chosen = index;
    details.hidden = index < 0;
    if (index < 0) return;
    rows[index].setAttribute("aria-selected", "true");
    details.querySelector("dl").replaceChildren(...Array.from(rows[index].cells).flatMap(entry));
    details.scrollTop = 0;
    rows[index].scrollIntoView({ block: "nearest" });
  }

  function entry(cell, column) {
    const value = document.createElement("dd");
    value.append(...cell.cloneNode(true).childNodes);
    value.querySelectorAll(".fold").forEach((button) => button.remove());
    if (!value.textContent) return [];
    const name = document.createElement("dt");
    name.textContent = heads[column].textContent;
    const both = document.createElement("div");
    both.className = cell.className;
    both.append(name, value);
    return [both];
  }

  const toggle = (index) => choose(index === chosen ? -1 : index);

  function step(by) {
    let index = current + by;
    while (index >= 0 && index < rows.length && rows[index].hidden) index += by;
    if (index >= 0 && index < rows.length) point(index, true);
  }

  const keys = {
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    ArrowRight: () => (inner(current) && folds()[current] ? fold(current, false) : step(1)),
    ArrowLeft: () => {
      if (inner(current) && !folds()[current]) fold(current, true);
      else if (parent[current] >= 0) point(parent[current], true);
    },
    Home: () => point(rows.findIndex((row) => !row.hidden), true),
    End: () => point(rows.findLastIndex((row) => !row.hidden), true),
    Enter: () => toggle(current),
    " ": () => toggle(current),
    Escape: () => choose(-1),
  };

  const body = document.querySelector("tbody");
  body.addEventListener("keydown", (event) => {
    if (event.target.localName !== "tr" || event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    event.preventDefault();
    keys[event.key]();
  });
  body.addEventListener("focusin", (event) => point(Number(event.target.closest("tr").dataset.index)));
  body.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    const index = Number(row.dataset.index);
    if (event.target.closest("button")) fold(index, !folds()[index]);
    else if (String(getSelection()) === "") toggle(index); // else somebody marks text
  });
  search.addEventListener("input", find);
  search.addEventListener("keydown", (event) => {
    if (event.key === "ArrowDown" && rows.length) {
      event.preventDefault();
      if (!rows[current].hidden) point(current, true);
    } else if (event.key === "Escape" && search.value) {
      event.preventDefault();
      search.value = "";
      find();
    }
  });
  document.addEventListener("keydown", (event) => {
    if (event.key !== "/" || event.target === search || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    search.focus();
    search.select();
  });
  document.getElementById("close").addEventListener("click", () => {
    choose(-1);
    rows[current].focus();
  });
  document.getElementById("fold").addEventListener("click", () => foldAll(true));
  document.getElementById("unfold").addEventListener("click", () => foldAll(false));
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  document.querySelector(".tools").hidden = false; // which do nothing without this script
  if (rows.length > LARGE) rows.forEach((_, index) => (folded[index] = level[index] > 1 && inner(index) ? 1 : 0));
  if (rows.length) {
    point(0);
    draw();
  }
})();
