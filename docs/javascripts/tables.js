// A table that is wider than the screen can be scrolled by keyboard. The theme has wrapped it when the page is loaded.
function makeScrollable() {
  for (const wrap of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (wrap.scrollWidth > wrap.clientWidth) wrap.tabIndex = 0;
    else wrap.removeAttribute("tabindex");
  }
}

addEventListener("load", makeScrollable);
addEventListener("resize", makeScrollable);
