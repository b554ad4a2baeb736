// A click on a column's name sorts its table: the largest first, then the smallest; words by the alphabet.
const UNITS = { kB: 1e3, MB: 1e6, GB: 1e9, TB: 1e12 };
const value = (row, column) => {
  const text = row.cells[column].textContent;
  const found = text.match(/^~?([\d,]+(?:\.\d+)?)(?: (B|kB|MB|GB|TB|%))?$/);
  return found ? Number(found[1].replaceAll(",", "")) * (UNITS[found[2]] ?? 1) : text;
};
const compare = (one, two) =>
  typeof one === "number" && typeof two === "number" ? one - two : String(one).localeCompare(String(two));
for (const name of document.querySelectorAll("th button")) {
  name.onclick = () => {
    const head = name.parentNode, body = head.closest("table").tBodies[0];
    const order = head.ariaSort === "descending" ? 1 : -1;
    for (const other of head.parentNode.cells) other.removeAttribute("aria-sort");
    head.ariaSort = order < 0 ? "descending" : "ascending";
    const at = head.cellIndex;
    body.append(...[...body.rows].sort((one, two) => order * compare(value(one, at), value(two, at))));
  };
}
