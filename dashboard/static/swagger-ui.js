// Swagger UI of the contract, tried out against the gateway that shows it. A key stays in this page's memory.
const main = document.getElementById("contract");
const dark = matchMedia("(prefers-color-scheme: dark)");

const adopt = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", adopt);
adopt();

const contract = await (await fetch(main.dataset.url)).json();
contract.servers = [{url: new URL("..", location.href).pathname.replace(/\/$/, "")}];

SwaggerUIBundle({
  spec: contract,
  domNode: main,
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  filter: false,
  persistAuthorization: false,
  tryItOutEnabled: false,
  validatorUrl: null,
});
