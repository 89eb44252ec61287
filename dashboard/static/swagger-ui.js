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

// Accessibility that Swagger UI lacks: names for screen readers, and keyboard access.
const names = {
  ".examples-select-element": "Example",
  "input[type=file]": "File",
  "textarea.body-param__text": "Request body",
  ".close-modal": "Dismiss",
};
new MutationObserver(() => {
  for (const [selector, name] of Object.entries(names))
    for (const control of place.querySelectorAll(`${selector}:not([aria-label])`)) control.ariaLabel = name;
  for (const control of place.querySelectorAll("[data-param-name] select:not([aria-label])"))
    control.ariaLabel = control.closest("[data-param-name]").dataset.paramName;
  // Their names are not what stands on them.
  for (const button of place.querySelectorAll(".modal-btn[aria-label]")) button.removeAttribute("aria-label");
  // They scroll, with keys only if they can be reached.
  for (const code of place.querySelectorAll(":is(.curl, .microlight):not([tabindex])")) code.tabIndex = 0;
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
