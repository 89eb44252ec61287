// Swagger UI of the contract. A key that is entered stays in the memory of this page.
const place = document.getElementById("contract");
const dark = matchMedia("(prefers-color-scheme: dark)");

const adopt = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", adopt);
adopt();

const contract = await readContract(place);

// An example of what may be left out would be sent as it stands: a filter that finds nothing, a key that was used before.
const resolve = schema => schema.$ref ? schema.$ref.slice(2).split("/").reduce((node, name) => node[name], contract) : schema;
const forget = parameter => {
  const {example, ...schema} = resolve(parameter.schema);
  Object.assign(parameter, {example: undefined, schema});
};
const operations = Object.values(contract.paths).flatMap(path => Object.values(path));
[...Object.values(contract.components.parameters), ...operations.flatMap(operation => operation.parameters ?? [])]
  .filter(parameter => parameter.schema && !parameter.required).forEach(forget);

const ours = ({React}) => ({
  components: {
    // There is one server, so there is nothing to choose.
    ServersContainer: () => null,
    // Its link lies within a button, which screen readers do not tell. Who opens an operation has its address anyway.
    DeepLink: ({text}) => React.createElement("span", null, text),
  },
});

// Controls that Swagger UI gives no name, which a screen reader would read as nothing.
const names = {".examples-select-element": "Example", "input[type=file]": "File", "textarea.body-param__text": "Request body"};
new MutationObserver(() => {
  for (const [selector, name] of Object.entries(names))
    for (const control of place.querySelectorAll(`${selector}:not([aria-label])`)) control.ariaLabel = name;
}).observe(place, {childList: true, subtree: true});

SwaggerUIBundle({
  spec: contract,
  domNode: place,
  plugins: [ours],
  deepLinking: true,
  docExpansion: "list",
  defaultModelsExpandDepth: 0,
  displayRequestDuration: true,
  tryItOutEnabled: true,
  persistAuthorization: false,
  validatorUrl: null,
});
