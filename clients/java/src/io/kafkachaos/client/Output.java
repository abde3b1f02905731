package io.kafkachaos.client;

import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;

/** Standard output, line by line; only {@link Main} and {@link Reporter} write to it. */
final class Output {
    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);

    /** Writes a whole line. Blocks while nobody reads; whoever started this program has gone if it fails, and so does this program. */
    synchronized void write(Json json) {
        try {
            out.write(json.line().getBytes(StandardCharsets.UTF_8));
        } catch (IOException gone) {
            Runtime.getRuntime().halt(Main.NOBODY_LISTENS);
        }
    }
}
