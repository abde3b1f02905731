package io.kafkachaos.client;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;

/**
 * The generator behind Poisson arrivals: ChaCha with 12 rounds, as Rust's {@code ChaCha12Rng} makes it from the same seed (stream 0,
 * a 64-bit block counter from 0, words in order, the low word of a pair first).
 */
final class ChaCha12 {
    private static final int ROUNDS = 12;

    private final int[] input = new int[16];
    private final int[] block = new int[16];
    private int used = block.length;

    ChaCha12(byte[] seed) {
        // "expand 32-byte k"
        input[0] = 0x61707865;
        input[1] = 0x3320646e;
        input[2] = 0x79622d32;
        input[3] = 0x6b206574;
        ByteBuffer.wrap(seed).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer().get(input, 4, 8);
    }

    long nextLong() {
        if (used == block.length) {
            nextBlock();
        }
        long low = block[used++] & 0xffff_ffffL;
        long high = block[used++] & 0xffff_ffffL;
        return high << 32 | low;
    }

    private void nextBlock() {
        System.arraycopy(input, 0, block, 0, block.length);
        for (int round = 0; round < ROUNDS; round += 2) {
            quarter(0, 4, 8, 12);
            quarter(1, 5, 9, 13);
            quarter(2, 6, 10, 14);
            quarter(3, 7, 11, 15);
            quarter(0, 5, 10, 15);
            quarter(1, 6, 11, 12);
            quarter(2, 7, 8, 13);
            quarter(3, 4, 9, 14);
        }
        for (int word = 0; word < block.length; word++) {
            block[word] += input[word];
        }
        used = 0;
        if (++input[12] == 0) {
            input[13]++;
        }
    }

    private void quarter(int a, int b, int c, int d) {
        block[a] += block[b];
        block[d] = Integer.rotateLeft(block[d] ^ block[a], 16);
        block[c] += block[d];
        block[b] = Integer.rotateLeft(block[b] ^ block[c], 12);
        block[a] += block[b];
        block[d] = Integer.rotateLeft(block[d] ^ block[a], 8);
        block[c] += block[d];
        block[b] = Integer.rotateLeft(block[b] ^ block[c], 7);
    }
}
