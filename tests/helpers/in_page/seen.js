// What a user sees of a page: visible elements, and the boxes of its text. The checks of the other files stand on it.

const DECORATION = "[aria-hidden=true], [role=presentation], [role=none]";

/** A short name of an element for people: its tag, id and classes, and the beginning of its text. */
function describe(element) {
    const id = element.id ? `#${element.id}` : "";
    const classes = [...element.classList].slice(0, 3).map(name => `.${name}`).join("");
    const words = (element.getAttribute("aria-label") ?? element.textContent).trim().replace(/\s+/g, " ");
    const region = element.parentElement?.closest("[id]");
    const where = region && !id ? ` in ${region.tagName.toLowerCase()}#${region.id}` : "";
    return `<${element.tagName.toLowerCase()}${id}${classes}>${words ? ` "${words.slice(0, 40)}"` : ""}${where}`;
}

/** Whether text of an element is for screen readers only, or until it has the focus: a box of a pixel that hides the
    rest, or one that lies left of the page. */
function forReadersOnly(element) {
    for (let at = element; at && at !== document.body; at = at.parentElement) {
        const style = getComputedStyle(at);
        if (style.position !== "absolute" && style.position !== "fixed") continue;
        if (at.getBoundingClientRect().right + scrollX <= 0) return true;
        if (style.clip !== "auto" || /inset\((50|100)%/.test(style.clipPath)) return true;
        if (style.overflow !== "visible" && at.offsetWidth <= 1 && at.offsetHeight <= 1) return true;
    }
    return false;
}

/** Whether an element is rendered, and not for screen readers only. */
function visible(element) {
    if (!element.checkVisibility({visibilityProperty: true, opacityProperty: true})) return false;
    if (element.closest("defs, symbol, clipPath, mask, pattern, marker, desc, metadata, svg title")) return false;
    return !forReadersOnly(element);
}

/** All elements of the document, or of one element, that are seen. */
function shown(selector, root = document) {
    return [...root.querySelectorAll(selector)].filter(element => element.getClientRects().length && visible(element));
}

const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const measured = new Map();

/** Where the ink of a text begins and ends above and below the middle of its line, as parts of the line's height. */
function ink(text, style) {
    const font = `${style.fontStyle} ${style.fontWeight} ${style.fontSize} ${style.fontFamily}`;
    const key = `${font}|${text}`;
    if (!measured.has(key)) {
        canvas.font = font;
        const size = canvas.measureText(text);
        const height = size.fontBoundingBoxAscent + size.fontBoundingBoxDescent;
        const top = (size.fontBoundingBoxAscent - size.actualBoundingBoxAscent) / height;
        const bottom = (size.fontBoundingBoxAscent + size.actualBoundingBoxDescent) / height;
        measured.set(key, [Math.max(0, top), Math.min(1, bottom)]);
    }
    return measured.get(key);
}

/** Four corners of an upright box. */
function corners(left, top, right, bottom) {
    return [[left, top], [right, top], [right, bottom], [left, bottom]];
}

/** Runs of characters of a text of SVG that stand beside one another, as corners in pixels of the window. */
function runs(text) {
    const matrix = text.getScreenCTM();
    const style = getComputedStyle(text);
    const [above, below] = ink(text.textContent.trim(), style);
    const gap = parseFloat(style.fontSize);
    const lines = [];
    for (let i = 0; i < text.getNumberOfChars(); i++) {
        const box = text.getExtentOfChar(i);
        if (!box.width || !box.height) continue;
        const last = lines.at(-1);
        if (last && Math.abs(last.y - box.y) < 1 && box.x > last.right - gap && box.x < last.right + gap)
            last.right = Math.max(last.right, box.x + box.width);
        else lines.push({x: box.x, y: box.y, right: box.x + box.width, height: box.height});
    }
    return lines.map(line =>
        corners(line.x, line.y + above * line.height, line.right, line.y + below * line.height)
            .map(([x, y]) => [matrix.a * x + matrix.c * y + matrix.e, matrix.b * x + matrix.d * y + matrix.f]));
}

/** How many pixels a unit of an element of SVG has. */
function magnification(element) {
    const matrix = element.getScreenCTM();
    return matrix ? Math.sqrt(Math.abs(matrix.a * matrix.d - matrix.b * matrix.c)) : 1;
}

/**
 * All texts that are seen: `element` that holds each, `text`, and `boxes`, one for each line, as four corners around
 * the ink. A text of SVG is one text with all of its spans.
 */
function texts(root = document.documentElement) {
    const all = [];
    const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
    const range = document.createRange();
    const drawn = new Set();
    for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        const text = node.data.trim().replace(/\s+/g, " ");
        let element = node.parentElement;
        if (!text || element.closest("script, style, template, noscript, option, datalist")) continue;
        const svg = element instanceof SVGElement ? element.closest("text") : null;
        if (element instanceof SVGElement && !svg) continue;
        if (svg) element = svg;
        if (drawn.has(element) || !visible(element)) continue;
        if (svg) {
            drawn.add(svg);
            all.push({element, text: svg.textContent.trim().replace(/\s+/g, " "), boxes: runs(svg)});
            continue;
        }
        range.selectNodeContents(node);
        const [above, below] = ink(text, getComputedStyle(element));
        const boxes = [...range.getClientRects()].filter(box => box.width >= 1 && box.height >= 1)
            .map(box => corners(box.left, box.top + above * box.height, box.right, box.top + below * box.height));
        if (boxes.length) all.push({element, text, boxes});
    }
    return all;
}

/** The upright box around corners. */
function around(box) {
    const [xs, ys] = [box.map(corner => corner[0]), box.map(corner => corner[1])];
    return {left: Math.min(...xs), top: Math.min(...ys), right: Math.max(...xs), bottom: Math.max(...ys)};
}

/** Do something while nothing moves and nothing sticks to the window's edges: boxes are where they are on paper. */
function still(work) {
    const style = document.createElement("style");
    style.textContent = "*, *::before, *::after { transition: none !important; animation: none !important; }";
    document.documentElement.append(style);
    const sticky = shown("*").filter(element => getComputedStyle(element).position === "sticky" && element.style);
    const before = sticky.map(element => element.getAttribute("style"));
    const place = [scrollX, scrollY];
    sticky.forEach(element => element.style.setProperty("position", "relative", "important"));
    sticky.forEach(element => element.style.setProperty("inset", "auto", "important"));
    scrollTo({left: 0, top: 0, behavior: "instant"});
    const undo = () => {
        style.remove();
        sticky.forEach((element, i) => before[i] === null ? element.removeAttribute("style")
            : element.setAttribute("style", before[i]));
        scrollTo({left: place[0], top: place[1], behavior: "instant"});
    };
    return {result: work(), undo};
}
