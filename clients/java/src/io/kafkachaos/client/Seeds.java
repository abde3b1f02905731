package io.kafkachaos.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;

/** Seeds of one producer's generators: those of the native load ({@code src/load/seed.rs}). */
final class Seeds {
    private static final byte ARRIVALS = 1;
    private static final byte PAYLOAD = 2;

    private Seeds() {
    }

    static byte[] arrivals(long planSeed, String group, int producer) {
        return digest(planSeed, group, producer, ARRIVALS);
    }

    /** Seed of the payload's filler, which also decides the first key. */
    static long payload(long planSeed, String group, int producer) {
        return ByteBuffer.wrap(digest(planSeed, group, producer, PAYLOAD)).order(ByteOrder.LITTLE_ENDIAN).getLong();
    }

    /** FNV-1a of the group's name. */
    static int groupHash(String group) {
        int hash = 0x811c9dc5;
        for (byte one : group.getBytes(StandardCharsets.UTF_8)) {
            hash = (hash ^ (one & 0xff)) * 0x01000193;
        }
        return hash;
    }

    private static byte[] digest(long planSeed, String group, int producer, byte purpose) {
        byte[] name = group.getBytes(StandardCharsets.UTF_8);
        ByteBuffer text = ByteBuffer.allocate(Long.BYTES + 1 + Integer.BYTES + name.length).order(ByteOrder.LITTLE_ENDIAN);
        text.putLong(planSeed).put(purpose).putInt(producer).put(name);
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.array());
        } catch (NoSuchAlgorithmException missing) {
            throw new IllegalStateException("every JVM has SHA-256", missing);
        }
    }
}
