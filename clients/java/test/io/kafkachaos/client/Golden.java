package io.kafkachaos.client;

import java.util.ArrayList;
import java.util.List;

/** Schedules, keys and values of a few producers, as {@code src/load/golden.rs} writes them. */
final class Golden {
    private static final long PLAN_SEED = 7;
    private static final String[] GROUPS = {"steady", "größer"};

    private Golden() {
    }

    static List<String> lines() {
        List<String> lines = new ArrayList<>();
        for (String group : GROUPS) {
            for (int producer : new int[] {0, 3}) {
                String who = group + " " + producer;
                lines.add(who + " constant " + times(DueTimes.constant(3.7, producer, 10)));
                lines.add(who + " poisson " + times(DueTimes.poisson(20, Seeds.arrivals(PLAN_SEED, group, producer))));
                Payload payload = new Payload(0, 1_000, PLAN_SEED, group, producer);
                lines.add(who + " keys " + text(payload.key(0)) + " " + text(payload.key(1)) + " " + text(payload.key(999)));
                for (int size : new int[] {3, 7, 19, 31, 32, 45}) {
                    byte[] value = new Payload(size, 0, PLAN_SEED, group, producer).value(77, -5);
                    lines.add(who + " value " + hex(value));
                }
            }
        }
        return lines;
    }

    /** The first five and the ten thousandth. */
    private static String times(DueTimes times) {
        StringBuilder text = new StringBuilder();
        for (int index = 1; index <= 10_000; index++) {
            long next = times.nextMicros();
            if (index <= 5) {
                text.append(next).append(' ');
            } else if (index == 10_000) {
                text.append(next);
            }
        }
        return text.toString();
    }

    private static String text(byte[] bytes) {
        return new String(bytes, java.nio.charset.StandardCharsets.US_ASCII);
    }

    private static String hex(byte[] bytes) {
        StringBuilder text = new StringBuilder();
        for (byte one : bytes) {
            text.append(String.format("%02x", one));
        }
        return text.toString();
    }
}
