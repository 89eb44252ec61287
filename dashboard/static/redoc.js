// Redoc of the contract, in the colours that the system asks for.
const main = document.getElementById("contract");
const dark = matchMedia("(prefers-color-scheme: dark)");

const contract = await (await fetch(main.dataset.url)).json();
contract.servers = [{url: new URL("..", location.href).href.replace(/\/$/, "")}];

const draw = () => {
  const place = document.createElement("div");
  main.replaceChildren(place);
  Redoc.init(contract, {}, place);
};
dark.addEventListener("change", draw);
draw();
