package io.kafkachaos.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.zip.CRC32C;

/** Values and keys of one producer's records: those of the native load ({@code src/load/payload.rs}, {@code src/load/keys.rs}). */
final class Payload {
    private static final long GOLDEN = 0x9e3779b97f4a7c15L;
    /** Where each field of the header ends, the longest first: only whole fields are written. */
    private static final int[] FIELD_ENDS = {32, 28, 20, 16, 8, 4};
    /** Where the checksum is. */
    private static final int CHECKSUM_AT = 28;

    private final int size;
    private final int producer;
    private final int groupHash;
    private final long seed;
    private final int keys;
    private final long firstKey;

    /** @param keys how many distinct keys; 0: records have none */
    Payload(int size, int keys, long planSeed, String group, int producer) {
        this.size = size;
        this.producer = producer;
        this.groupHash = Seeds.groupHash(group);
        this.seed = Seeds.payload(planSeed, group, producer);
        this.keys = keys;
        this.firstKey = keys == 0 ? 0 : Long.remainderUnsigned(seed, keys);
    }

    /** The key of the {@code round}-th record that the producer sends to a topic; {@code null} without keys. */
    byte[] key(long round) {
        if (keys == 0) {
            return null;
        }
        return ("key-" + (firstKey + round % keys) % keys).getBytes(StandardCharsets.US_ASCII);
    }

    /** The value of a record. The client keeps it until the record is sent, so each record has its own. */
    byte[] value(long sequence, long dueSinceSteadyMicros) {
        byte[] value = new byte[size];
        ByteBuffer header = ByteBuffer.allocate(FIELD_ENDS[0]).order(ByteOrder.LITTLE_ENDIAN);
        header.put("KCv2".getBytes(StandardCharsets.US_ASCII)).putInt(producer).putLong(sequence).putInt(groupHash);
        header.putLong(dueSinceSteadyMicros).putInt(0);
        int end = headerEnd();
        System.arraycopy(header.array(), 0, value, 0, end);
        fill(value, end, seed ^ sequence * GOLDEN);
        if (end == FIELD_ENDS[0]) {
            CRC32C checksum = new CRC32C();
            checksum.update(value, 0, CHECKSUM_AT);
            checksum.update(value, end, size - end);
            ByteBuffer.wrap(value).order(ByteOrder.LITTLE_ENDIAN).putInt(CHECKSUM_AT, (int) checksum.getValue());
        }
        return value;
    }

    private int headerEnd() {
        for (int end : FIELD_ENDS) {
            if (end <= size) {
                return end;
            }
        }
        return 0;
    }

    /** SplitMix64, eight bytes at a step. */
    private static void fill(byte[] bytes, int from, long start) {
        long state = start;
        for (int at = from; at < bytes.length; at += Long.BYTES) {
            state += GOLDEN;
            long word = state;
            word = (word ^ word >>> 30) * 0xbf58476d1ce4e5b9L;
            word = (word ^ word >>> 27) * 0x94d049bb133111ebL;
            word ^= word >>> 31;
            for (int index = at; index < Math.min(at + Long.BYTES, bytes.length); index++) {
                bytes[index] = (byte) word;
                word >>>= 8;
            }
        }
    }
}
