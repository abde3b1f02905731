package io.kafkachaos.client;

import java.util.HashMap;
import java.util.Iterator;
import java.util.Map;

/** How late records were handed over although their sender was not held up: microseconds, with how often each occurred. */
final class Lateness {
    private final Map<Long, Integer> counts = new HashMap<>();

    synchronized void note(long micros) {
        counts.merge(micros, 1, Integer::sum);
    }

    /** Writes it into a list, as far as the line has room; whether there is more. */
    synchronized boolean tell(Json json) {
        Iterator<Map.Entry<Long, Integer>> entries = counts.entrySet().iterator();
        while (entries.hasNext() && !json.isFull()) {
            Map.Entry<Long, Integer> entry = entries.next();
            json.open().number(entry.getKey()).number(entry.getValue()).close();
            entries.remove();
        }
        return !counts.isEmpty();
    }
}
