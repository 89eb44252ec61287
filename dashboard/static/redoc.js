// Shows the contract in Redoc, in the colours of tokens.css, which follow the system's colour scheme.
const place = document.getElementById("contract");
const contract = await readContract(place);

const theme = () => {
  const style = getComputedStyle(document.body);
  // Read from an element: the style sheet's value has the colours of both schemes.
  const probe = document.body.appendChild(document.createElement("i"));
  const of = name => {
    probe.style.color = `var(--${name})`;
    return getComputedStyle(probe).color;
  };
  const font = name => style.getPropertyValue(`--${name}`).trim();
  const item = {activeBackgroundColor: of("tint"), activeTextColor: of("accent"), textTransform: "none"};
  const response = (color, tint, tabTextColor) => ({color: of(color), backgroundColor: of(tint), tabTextColor});
  const made = {
    spacing: {sectionVertical: 24},
    colors: {
      primary: {main: of("accent")},
      success: {main: of("accent")},
      warning: {main: of("warn")},
      error: {main: of("bad")},
      gray: {50: of("wall"), 100: of("wall")},
      text: {primary: of("ink"), secondary: of("soft")},
      border: {dark: of("line"), light: of("line")},
      // The tabs are on the panel, which is dark in both schemes.
      responses: {
        success: response("accent", "tint", "#5bd0a0"),
        error: response("bad", "bad-tint", "#ff9d90"),
        redirect: response("warn", "wall", "#ffc27a"),
        info: response("ink", "wall", "#8fb0e4"),
      },
      http: {get: of("get"), post: of("post"), put: of("patch"), patch: of("patch"), delete: of("delete")},
    },
    schema: {
      linesColor: of("line"),
      nestedBackground: of("wall"),
      typeNameColor: of("soft"),
      requireLabelColor: of("bad"),
      arrow: {color: of("soft")},
    },
    typography: {
      fontSize: "15px",
      fontFamily: font("sans"),
      headings: {fontFamily: font("sans"), fontWeight: "650"},
      code: {fontFamily: font("mono"), color: of("ink"), backgroundColor: of("wall"), wrap: true},
      links: {color: of("accent"), hover: of("accent"), visited: of("accent")},
    },
    sidebar: {
      backgroundColor: of("wall"), textColor: of("ink"), activeTextColor: of("accent"), groupItems: item, level1Items: item,
    },
    rightPanel: {
      backgroundColor: of("panel"),
      textColor: of("on-code"),
      servers: {overlay: {backgroundColor: of("wall"), textColor: of("ink")}, url: {backgroundColor: of("paper")}},
    },
    codeBlock: {backgroundColor: of("code")},
    fab: {backgroundColor: of("accent"), color: of("on-accent")},
  };
  probe.remove();
  return made;
};

// The accessible names of menu items lack a part of their visible text.
new MutationObserver(() => {
  for (const item of place.querySelectorAll("li[aria-label]")) item.removeAttribute("aria-label");
}).observe(place, {childList: true, subtree: true});

// Redoc reads its colours only at the start, so a new scheme needs a reload. The URL's fragment keeps the position.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => location.reload());
Redoc.init(contract, {
  theme: theme(),
  hideDownloadButtons: true,
  nativeScrollbars: true,
  requiredPropsFirst: true,
  scrollYOffset: ".bar",
}, place);
