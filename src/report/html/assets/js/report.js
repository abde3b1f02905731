// The page of one run: which figures it has. js/page.js fills them.

/** What fills each figure's box, or returns why it stays empty; null where it does not. */
const FIGURES = {
  records,
  "in-flight": inFlight,
  "metadata-requests": metadataRequests,
  latency,
  percentiles,
  layers,
  replicas,
  brokers,
  outages,
  caches,
  "first-ack": firstAck,
  generator,
};

function begin() {
  const data = dataOfPage();
  Time.begin(data);
  rankNodes(data);
  beginPage(FIGURES, data);
}

begin();
