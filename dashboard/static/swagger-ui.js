// Shows the contract in Swagger UI. An entered key is stored only in the memory of this page.
const place = document.getElementById("contract");
const dark = matchMedia("(prefers-color-scheme: dark)");

const adopt = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", adopt);
adopt();

const contract = await readContract(place);

// Swagger UI would send the examples of optional parameters: filters without matches, a used Idempotency-Key.
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
    // The link is inside a button, so screen readers ignore it. An open operation's URL is in the address bar anyway.
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
  // Their accessible names differ from their visible text.
  for (const button of place.querySelectorAll(".modal-btn[aria-label]")) button.removeAttribute("aria-label");
  // Scrolling with the keyboard needs focus.
  for (const code of place.querySelectorAll(":is(.curl, .microlight):not([tabindex])")) code.tabIndex = 0;
}).observe(place, {childList: true, subtree: true});

// Swagger UI would offer each response as a file instead of showing it. Media stays one.
const show = response => {
  if (/^application\/json\b/.test(response.headers["content-type"])) delete response.headers["content-disposition"];
  return response;
};

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
  responseInterceptor: show,
  validatorUrl: null,
});
