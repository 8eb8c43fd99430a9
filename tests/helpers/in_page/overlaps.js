// Texts that lie upon one another, are cut off, stick out of their box, or are too small to be read.

/** Pixels by which boxes of two texts may intersect. */
const SLACK = 1;
/** Pixels of the smallest font that people read. */
const SMALLEST = 9;

/** By how many pixels two convex polygons intersect; 0 when a line separates them. */
function depth(one, other) {
    let least = Infinity;
    for (const polygon of [one, other])
        for (let i = 0; i < polygon.length; i++) {
            const [ax, ay] = polygon[i], [bx, by] = polygon[(i + 1) % polygon.length];
            const length = Math.hypot(bx - ax, by - ay);
            if (!length) continue;
            const [nx, ny] = [(ay - by) / length, (bx - ax) / length];
            const along = points => points.map(([x, y]) => x * nx + y * ny);
            const [first, second] = [along(one), along(other)];
            const common = Math.min(Math.max(...first), Math.max(...second))
                - Math.max(Math.min(...first), Math.min(...second));
            if (common <= 0) return 0;
            least = Math.min(least, common);
        }
    return least;
}

/** The part of an upright box that scrolling and hiding ancestors leave of it, and the first that hides some. */
function clipped(box, element) {
    const left = {...box};
    let by = null;
    for (let at = element; at && at !== document.documentElement; at = at.parentElement) {
        if (at instanceof SVGElement && !(at instanceof SVGSVGElement)) continue;
        const style = getComputedStyle(at);
        const hides = [style.overflowX, style.overflowY].map(value => value !== "visible");
        if (at === document.body || (!hides[0] && !hides[1])) continue;
        const edge = at.getBoundingClientRect();
        const cut = {
            left: hides[0] ? Math.max(left.left, edge.left) : left.left,
            right: hides[0] ? Math.min(left.right, edge.right) : left.right,
            top: hides[1] ? Math.max(left.top, edge.top) : left.top,
            bottom: hides[1] ? Math.min(left.bottom, edge.bottom) : left.bottom,
        };
        const lost = Math.max(cut.left - left.left, left.right - cut.right, cut.top - left.top, left.bottom - cut.bottom);
        if (lost > SLACK) by ??= at;
        Object.assign(left, cut);
    }
    return {left, by, empty: left.right - left.left < 1 || left.bottom - left.top < 1};
}

/** Whether users can bring what an element hides into sight: it scrolls, or a script moves its picture. */
function moves(element) {
    const style = getComputedStyle(element);
    return /auto|scroll/.test(style.overflow) || element.closest("[data-pannable]") !== null;
}

/** Whether an element lies above the page on purpose: a dialog, a popover, a bar that stays where it is. */
function layer(element) {
    for (let at = element; at; at = at.parentElement)
        if (at.matches(":modal, :popover-open") || getComputedStyle(at).position === "fixed") return at;
    return null;
}

/** The element whose box should hold a text: the nearest ancestor that is not inline. */
function container(element) {
    let at = element;
    while (at.parentElement && /^(inline|contents)$/.test(getComputedStyle(at).display)) at = at.parentElement;
    return at;
}

/** Findings about the texts of an element. */
function overlaps(root) {
    const findings = [];
    const placed = [];
    for (const {element, text, boxes} of texts(root)) {
        const say = what => findings.push(`${what}: "${text.slice(0, 60)}" of ${describe(element)}`);
        const size = parseFloat(getComputedStyle(element).fontSize)
            * (element instanceof SVGElement ? magnification(element) : 1);
        if (size < SMALLEST - 0.05 && !element.closest("[data-pannable], sub, sup"))
            say(`text of ${size.toFixed(1)} px is too small`);
        for (const box of boxes) {
            const whole = around(box);
            const {left, by, empty} = clipped(whole, element);
            if (by && !moves(by)) {
                const dots = getComputedStyle(by).textOverflow === "ellipsis";
                if (!dots || !by.closest("[title], [aria-label]")) say(`cut off by ${describe(by)}`);
            }
            if (!by && (whole.left < -SLACK || whole.top + scrollY < -SLACK)) say("beyond the edge of the page");
            if (!(element instanceof SVGElement)) {
                const holder = container(element);
                const edge = holder.getBoundingClientRect();
                if (!by && (whole.right > edge.right + SLACK || whole.left < edge.left - SLACK) && edge.width)
                    say(`sticks out of ${describe(holder)}`);
            }
            if (empty) continue;
            const seen = by ? corners(left.left, left.top, left.right, left.bottom) : box;
            placed.push({element, text, box: seen, edge: around(seen), layer: layer(element)});
        }
    }
    placed.sort((one, other) => one.edge.top - other.edge.top);
    const told = new Set();
    placed.forEach((one, i) => {
        for (let j = i + 1; j < placed.length && placed[j].edge.top < one.edge.bottom - SLACK; j++) {
            const other = placed[j];
            if (other.edge.left > one.edge.right - SLACK || other.edge.right < one.edge.left + SLACK) continue;
            if (one.element === other.element && one.text === other.text && !(one.element instanceof SVGElement)) continue;
            if (one.layer !== other.layer) continue;
            const common = depth(one.box, other.box);
            if (common <= SLACK) continue;
            const message = `"${one.text.slice(0, 40)}" of ${describe(one.element)} and "${other.text.slice(0, 40)}" of `
                + `${describe(other.element)} overlap`;
            if (!told.has(message)) findings.push(`${message} by ${common.toFixed(1)} px`);
            told.add(message);
        }
    });
    return [...new Set(findings)];
}
