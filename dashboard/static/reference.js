// What both pages of the contract begin with: the contract, as this gateway serves it.
window.readContract = async place => {
  const response = await fetch(place.dataset.url);
  if (!response.ok) {
    place.textContent = `The contract could not be read (HTTP ${response.status}). Load this page again in a minute.`;
    throw new Error(place.textContent);
  }
  const contract = await response.json();
  // Not the server that the contract names: the one that shows this page, behind whatever proxy.
  contract.servers = [{url: new URL("..", location.href).href.replace(/\/$/, "")}];
  return contract;
};
