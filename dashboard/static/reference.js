// Loads the contract from this gateway, for both reference pages.
window.readContract = async place => {
  const response = await fetch(place.dataset.url);
  if (!response.ok) {
    place.textContent = `The contract could not be read (HTTP ${response.status}). Load this page again in a minute.`;
    throw new Error(place.textContent);
  }
  const contract = await response.json();
  // The server of this page instead of the contract's server, also behind a proxy.
  contract.servers = [{url: new URL("..", location.href).href.replace(/\/$/, "")}];
  return contract;
};
