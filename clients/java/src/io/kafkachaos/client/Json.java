package io.kafkachaos.client;

/** One line of JSON in the making: an object whose values are numbers, texts, or arrays of those. */
final class Json {
    /** So long a line is enough: whoever reads it has other things to do between two. */
    private static final int FULL_CHARS = 64 << 10;

    private final StringBuilder text = new StringBuilder("{");
    private boolean needsComma;
    /** The list that is begun and has no item yet. */
    private String emptyList;

    /** Begins a list of arrays, up to {@link #endList}; without any, nothing is written. */
    Json list(String name) {
        emptyList = name;
        return this;
    }

    Json endList() {
        if (emptyList == null) {
            close();
        }
        emptyList = null;
        return this;
    }

    boolean isFull() {
        return text.length() >= FULL_CHARS;
    }

    boolean isEmpty() {
        return text.length() == 1;
    }

    Json name(String name) {
        comma().append('"').append(name).append("\":");
        needsComma = false;
        return this;
    }

    Json open() {
        if (emptyList != null) {
            String name = emptyList;
            emptyList = null;
            name(name).open();
        }
        comma().append('[');
        needsComma = false;
        return this;
    }

    Json close() {
        text.append(']');
        needsComma = true;
        return this;
    }

    Json number(long value) {
        comma().append(value);
        needsComma = true;
        return this;
    }

    Json nothing() {
        comma().append("null");
        needsComma = true;
        return this;
    }

    Json text(String value) {
        comma().append('"');
        for (int index = 0; index < value.length(); index++) {
            char one = value.charAt(index);
            if (one == '"' || one == '\\') {
                text.append('\\').append(one);
            } else if (one < ' ') {
                text.append(String.format("\\u%04x", (int) one));
            } else {
                text.append(one);
            }
        }
        text.append('"');
        needsComma = true;
        return this;
    }

    /** The line, with its end. */
    String line() {
        return text.append("}\n").toString();
    }

    private StringBuilder comma() {
        return needsComma ? text.append(',') : text;
    }
}
