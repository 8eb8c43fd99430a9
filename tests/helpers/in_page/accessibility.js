// Rules that a page must keep for everybody to use it: those of WCAG 2.2, AA, which a script can judge.

const FOCUSABLE = "a[href], area[href], button, input:not([type=hidden]), select, textarea, summary, iframe, "
    + "audio[controls], video[controls], [contenteditable=''], [contenteditable=true], [tabindex]";
const WIDGETS = ["button", "checkbox", "combobox", "gridcell", "link", "listbox", "menuitem", "menuitemcheckbox",
    "menuitemradio", "option", "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem"];
const COMPOSITES = ["grid", "listbox", "menu", "menubar", "radiogroup", "tablist", "toolbar", "tree", "treegrid"];
const STRUCTURE = ["alert", "alertdialog", "application", "article", "banner", "blockquote", "caption", "cell", "code",
    "columnheader", "complementary", "contentinfo", "definition", "dialog", "document", "feed", "figure", "form", "group",
    "graphics-document", "graphics-object", "graphics-symbol", "heading", "img", "list", "listitem", "log", "main", "mark",
    "math", "meter", "navigation", "none", "note", "paragraph", "presentation", "progressbar", "region", "row", "rowgroup",
    "rowheader", "search", "separator", "status", "table", "tabpanel", "term", "time", "timer", "tooltip"];
const ROLES = new Set([...WIDGETS, ...COMPOSITES, ...STRUCTURE]);
const NEEDED = {
    checkbox: "aria-checked", heading: "aria-level", menuitemcheckbox: "aria-checked", menuitemradio: "aria-checked",
    combobox: "aria-expanded", meter: "aria-valuenow", option: "aria-selected", radio: "aria-checked",
    slider: "aria-valuenow", switch: "aria-checked", tab: "aria-selected",
};
const REFERENCES = ["aria-labelledby", "aria-describedby", "aria-controls", "aria-owns", "aria-activedescendant",
    "aria-details", "aria-errormessage", "aria-flowto", "for", "headers", "list", "form"];
const CHANGING = ["boxShadow", "borderTopColor", "borderTopWidth",
    "borderBottomColor", "borderBottomWidth", "backgroundColor", "textDecorationLine", "stroke", "strokeWidth", "fill",
    "opacity"];
/** Pixels of the smallest target that a finger hits. */
const TARGET = 24;

/** Whether an element can have the focus. */
function focusable(element) {
    return element.matches(FOCUSABLE) && !element.matches(":disabled") && !element.closest("[inert]");
}

function languageAndTitle(say) {
    const root = document.documentElement;
    if (!/^[a-z]{2,3}(-|$)/i.test(root.lang)) say("the document has no language: <html lang>");
    if (!document.title.trim()) say("the document has no title");
    const viewport = document.querySelector("meta[name=viewport]");
    if (!viewport) say("no <meta name=viewport>: telephones show the page as if it were 980 pixels wide");
    else if (/user-scalable\s*=\s*(no|0)|maximum-scale\s*=\s*[01](\.\d+)?\s*(,|$)/.test(viewport.content))
        say("<meta name=viewport> prevents zooming");
}

function landmarks(say) {
    const mains = shown("main, [role=main]");
    if (mains.length !== 1) say(`the document has ${mains.length} main landmarks instead of 1`);
    const navs = shown("nav, [role=navigation]");
    if (!navs.length) say("the document has no nav landmark");
    const names = navs.map(nav => nav.getAttribute("aria-label") ?? nav.getAttribute("aria-labelledby") ?? "");
    if (new Set(names).size < names.length) say("nav landmarks have no different names");
    const regions = "main, nav, header, footer, aside, dialog, [role=main], [role=navigation], [role=banner], "
        + "[role=contentinfo], [role=complementary], [role=region], [role=search], [role=dialog], [role=alert], [role=status]";
    for (const {element, text} of texts(document.body))
        if (!element.closest(regions) && !element.closest("a[href^='#']"))
            say(`text is in no landmark: "${text.slice(0, 40)}" of ${describe(element)}`);
}

function headings(say) {
    const all = shown("h1, h2, h3, h4, h5, h6, [role=heading]").filter(heading => !heading.closest(DECORATION));
    const level = heading => +(heading.getAttribute("aria-level") ?? heading.tagName[1]);
    const first = all.filter(heading => level(heading) === 1);
    if (first.length !== 1) say(`the document has ${first.length} headings of level 1 instead of 1`);
    all.forEach((heading, i) => {
        const before = i ? level(all[i - 1]) : 0;
        if (level(heading) > before + 1) say(`heading jumps from level ${before} to ${level(heading)}: ${describe(heading)}`);
        if (!heading.textContent.trim()) say(`heading without text: ${describe(heading)}`);
    });
}

function identifiers(say) {
    const seen = new Map();
    for (const element of document.querySelectorAll("[id]")) seen.set(element.id, (seen.get(element.id) ?? 0) + 1);
    for (const [id, count] of seen) if (count > 1) say(`${count} elements have the id "${id}"`);
    for (const name of REFERENCES)
        for (const element of document.querySelectorAll(`[${name}]`))
            for (const id of element.getAttribute(name).split(/\s+/).filter(Boolean))
                if (!seen.has(id)) say(`${name}="${id}" names no element: ${describe(element)}`);
    for (const element of document.querySelectorAll("a[href^='#'], use[href^='#']")) {
        const id = decodeURIComponent(element.getAttribute("href").slice(1));
        if (id && id !== "top" && !seen.has(id)) say(`link to "#${id}", which is not there: ${describe(element)}`);
    }
}

function roles(say) {
    for (const element of document.querySelectorAll("[role]")) {
        const role = element.getAttribute("role");
        if (!ROLES.has(role)) say(`no role is called "${role}": ${describe(element)}`);
        const needed = NEEDED[role];
        if (role === "region" && !element.matches("[aria-label], [aria-labelledby]"))
            say(`region without a name: ${describe(element)}`);
        if (needed && !element.hasAttribute(needed) && !element.matches("input, select, option, h1, h2, h3, h4, h5, h6"))
            say(`role ${role} without ${needed}: ${describe(element)}`);
        if ((role === "img" || role === "button") && [...element.querySelectorAll(FOCUSABLE)].some(focusable))
            say(`role ${role} hides controls within it: ${describe(element)}`);
    }
    for (const element of shown("[aria-hidden=true] *, [aria-hidden=true]"))
        if (focusable(element) && element.tabIndex >= 0) say(`hidden from readers, but takes the focus: ${describe(element)}`);
    for (const element of shown("[tabindex]")) {
        if (+element.getAttribute("tabindex") > 0) say(`tabindex above 0: ${describe(element)}`);
        const native = element.matches("a[href], button, input, select, textarea, summary, main, section, h1, h2, h3, dialog");
        if (element.tabIndex >= 0 && !native && !element.hasAttribute("role"))
            say(`takes the focus without a role: ${describe(element)}`);
    }
    for (const item of document.querySelectorAll("li"))
        if (!item.parentElement.matches("ul, ol, menu, [role]")) say(`<li> in no list: ${describe(item)}`);
    for (const item of document.querySelectorAll("dt, dd"))
        if (!item.parentElement.closest("dl")) say(`<${item.tagName.toLowerCase()}> in no <dl>: ${describe(item)}`);
}

function pictures(say) {
    const hidden = element => element.closest(DECORATION) !== null;
    for (const image of shown("img"))
        if (!image.hasAttribute("alt") && !hidden(image)) say(`image without alt: ${describe(image)}`);
    for (const svg of shown("svg")) {
        if (hidden(svg) || svg.parentElement?.closest("svg, [role=img]")) continue;
        const title = svg.querySelector(":scope > title")?.textContent.trim();
        if (!title && !svg.getAttribute("aria-label")?.trim() && !svg.hasAttribute("aria-labelledby"))
            say(`picture without a name: ${describe(svg)}`);
        if (!svg.hasAttribute("role")) say(`picture without a role: ${describe(svg)}`);
    }
    for (const picture of shown("canvas, video, audio, iframe, object"))
        if (!hidden(picture) && !picture.closest("[role=img]") && !picture.hasAttribute("aria-label")
            && !picture.hasAttribute("aria-labelledby") && !picture.title) say(`without a name: ${describe(picture)}`);
}

function tables(say) {
    for (const table of shown("table")) {
        if (table.closest(DECORATION)) continue;
        const heads = [...table.querySelectorAll("th")];
        if (!heads.length) say(`table without <th>: ${describe(table)}`);
        for (const head of heads) {
            if (!/^(col|row|colgroup|rowgroup)$/.test(head.getAttribute("scope") ?? ""))
                say(`<th> without scope: ${describe(head)}`);
            if (!head.textContent.trim() && !head.getAttribute("aria-label")) say(`empty <th>: ${describe(head)}`);
        }
    }
}

/** Elements that users click, drag or type into. */
function targets() {
    const widgets = WIDGETS.map(role => `[role=${role}]`).join(", ");
    const own = shown(`${FOCUSABLE}, ${widgets}`).filter(element =>
        !element.matches(":disabled, [aria-disabled=true]") && !element.closest("[inert]"));
    return own.filter(element => element.matches("a, area, button, input, select, textarea, summary, [contenteditable]")
        || WIDGETS.includes(element.getAttribute("role")));
}

/** Whether the same thing can be done elsewhere: the widget says so with the id of the other one, or is in a picture
    that users magnify. */
function elsewhere(element) {
    return element.closest("[data-pannable]") !== null || element.closest("[data-same-as]") !== null;
}

function sizes(say) {
    const all = targets().map(element => ({element, box: element.getBoundingClientRect()}));
    const label = element => element.labels?.[0]?.getBoundingClientRect();
    for (const {element, box} of all) {
        const biggest = [box, label(element)].filter(Boolean);
        if (biggest.some(one => one.width >= TARGET - 0.5 && one.height >= TARGET - 0.5) || elsewhere(element)) continue;
        const inline = getComputedStyle(element).display === "inline" && element.parentElement
            && element.parentElement.textContent.trim().length > element.textContent.trim().length;
        if (inline || element.closest("[role=img]")) continue;
        const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
        const near = all.find(other => other.element !== element && !other.element.contains(element)
            && !element.contains(other.element) && layer(element) === layer(other.element)
            && Math.hypot(Math.max(other.box.left - x, 0, x - other.box.right),
                Math.max(other.box.top - y, 0, y - other.box.bottom)) < TARGET / 2);
        if (near) say(`target of ${box.width.toFixed(0)} x ${box.height.toFixed(0)} pixels beside ${describe(near.element)}: `
            + describe(element));
    }
}

function focusStyles(say) {
    const seen = new Set();
    const looks = parts => parts.map(part => {
        const styles = [getComputedStyle(part), getComputedStyle(part, "::before"), getComputedStyle(part, "::after")];
        const outline = style => style.outlineStyle !== "none" && parseFloat(style.outlineWidth) ? style.outline : "";
        return styles.map(style => [outline(style), ...CHANGING.map(name => style[name])].join()).join();
    }).join("|");
    const back = document.activeElement;
    for (const element of shown(FOCUSABLE)) {
        const kind = `${element.tagName}|${element.type}|${element.getAttribute("class")}|${element.getAttribute("role")}|`
            + `${element.parentElement.tagName}|${element.parentElement.getAttribute("class")}`;
        if (seen.has(kind) || !focusable(element) || element.tabIndex < 0) continue;
        seen.add(kind);
        const parts = [element, ...[...element.querySelectorAll("*")].slice(0, 12), element.parentElement,
            element.nextElementSibling, ...(element.labels ?? [])].filter(Boolean);
        element.blur();
        const before = looks(parts);
        element.focus({focusVisible: true, preventScroll: true});
        if (document.activeElement === element) {
            if (looks(parts) === before) say(`looks the same with the focus: ${describe(element)}`);
        } else say(`does not take the focus: ${describe(element)}`);
    }
    document.activeElement?.blur?.();
    back?.focus?.({preventScroll: true});
}

/** Clickable elements that the keyboard does not reach, given which elements Tab reached. */
function unreached(reached) {
    const missing = [];
    const composites = COMPOSITES.map(role => `[role=${role}]`).join(", ");
    for (const element of targets()) {
        if (reached.has(element) || element.closest("[role=img], [aria-hidden=true]")) continue;
        if (element.matches("input[type=radio]") && element.name
            && [...reached].some(other => other.type === "radio" && other.name === element.name)) continue;
        const group = element.parentElement?.closest(composites);
        if (group && (reached.has(group) || [...reached].some(other => group.contains(other)))) continue;
        missing.push(`Tab does not reach ${describe(element)}`);
    }
    for (const element of shown("body *")) {
        if (getComputedStyle(element).cursor !== "pointer" || getComputedStyle(element.parentElement).cursor === "pointer")
            continue;
        const near = element.closest(`${FOCUSABLE}, label, [role=img], [aria-hidden=true], ${composites}`);
        if (!near && !element.querySelector(FOCUSABLE)) missing.push(`clickable, but not with the keyboard: ${describe(element)}`);
    }
    return missing;
}

function reflow(say) {
    const root = document.documentElement;
    if (root.scrollWidth <= innerWidth) return;
    const wide = shown("body *").filter(element => element.getBoundingClientRect().right > innerWidth + 1);
    const scrolled = element => {
        for (let at = element.parentElement; at && at !== document.body; at = at.parentElement)
            if (getComputedStyle(at).overflowX !== "visible") return true;
        return false;
    };
    const culprits = wide.filter(element => !scrolled(element)).slice(-3).map(describe);
    say(`the page is ${root.scrollWidth} pixels wide in a window of ${innerWidth}: ${culprits.join(", ")}`);
}

const RULES = [languageAndTitle, landmarks, headings, identifiers, roles, pictures, tables, sizes, focusStyles, reflow];

/** Findings of all rules that need no browser's help. */
function accessibility() {
    const findings = [];
    for (const rule of RULES) rule(text => findings.push(text));
    return [...new Set(findings)];
}

/** A colour as red, green, blue and alpha, from 0 to 255, whatever notation it has. */
const known = new Map();
function rgba(colour) {
    if (!known.has(colour)) {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = "#000";
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        known.set(colour, [...canvas.getImageData(0, 0, 1, 1).data]);
    }
    return known.get(colour);
}

/**
 * Texts with their colours and places on the page; then text is made invisible, so that a picture of the page shows what
 * lies behind it. `behind` is the colour of a halo, if a text has one; `moved()` says whether text has moved since.
 */
function inked() {
    const all = [];
    const add = (element, text, colour, boxes, style, scale = 1) => {
        let alpha = 1;
        for (let at = element; at; at = at.parentElement) alpha *= parseFloat(getComputedStyle(at).opacity);
        if (element instanceof SVGElement) alpha *= parseFloat(style.fillOpacity);
        const size = parseFloat(style.fontSize) * scale;
        const large = size >= 24 || (size >= 18.66 && parseInt(style.fontWeight) >= 700);
        const halo = element instanceof SVGElement && style.paintOrder.startsWith("stroke") && style.stroke !== "none"
            && parseFloat(style.strokeWidth) >= 2;
        const places = boxes.map(box => clipped(around(box), element)).filter(({empty}) => !empty).map(({left}) => left)
            .map(({left, top, right, bottom}) => [left + scrollX, top + scrollY, right + scrollX, bottom + scrollY]);
        const [red, green, blue, own] = rgba(colour);
        all.push({
            name: `"${text.slice(0, 40)}" of ${describe(element)}`, colour: [red, green, blue, own / 255 * alpha], large,
            places, behind: halo ? rgba(style.stroke).slice(0, 3) : null,
        });
    };
    for (const {element, text, boxes} of texts()) {
        if (element.closest(":disabled, [aria-disabled=true]")) continue;
        if (element instanceof SVGElement) {
            for (const span of [element, ...element.querySelectorAll("tspan")].filter(span => span.children.length === 0)) {
                const style = getComputedStyle(span);
                add(span, span.textContent.trim(), style.fill, span === element ? boxes : runs(span), style,
                    magnification(span));
            }
        } else add(element, text, getComputedStyle(element).webkitTextFillColor, boxes, getComputedStyle(element));
    }
    for (const field of shown("input, textarea, select").filter(field => !field.matches(":disabled"))) {
        if (/^(checkbox|radio|range|color|hidden|file)$/.test(field.type)) continue;
        const empty = !field.value;
        if (empty && !field.placeholder) continue;
        const {left, top, right, bottom} = field.getBoundingClientRect();
        const style = getComputedStyle(field);
        const inside = corners(left + 4, top + 4, right - 4, bottom - 4);
        add(field, field.value || field.placeholder, getComputedStyle(field, empty ? "::placeholder" : null).color, [inside],
            style);
    }
    const style = document.createElement("style");
    style.textContent = `*, *::before, *::after, *::placeholder { -webkit-text-fill-color: transparent !important;
        text-shadow: none !important; text-decoration-color: transparent !important; caret-color: transparent !important; }
        svg text, svg tspan { fill: transparent !important; stroke: transparent !important; }`;
    document.documentElement.append(style);
    const where = () => JSON.stringify(texts().map(({boxes}) => boxes));
    const before = where();
    return {all, moved: () => where() !== before, unhide: () => style.remove()};
}
