package org.slf4j.impl;

import io.kafkachaos.client.KafkaLogger;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.ILoggerFactory;
import org.slf4j.Logger;
import org.slf4j.spi.LoggerFactoryBinder;

/** How SLF4J 1.7 finds the logging of this program, by this very name and these members. */
public final class StaticLoggerBinder implements LoggerFactoryBinder {
    /** The version of SLF4J that this was compiled for; not final, so that it is read and not inlined. */
    public static String REQUESTED_API_VERSION = "1.7";

    private static final StaticLoggerBinder SINGLETON = new StaticLoggerBinder();

    private final Map<String, Logger> loggers = new ConcurrentHashMap<>();
    private final ILoggerFactory factory = name -> loggers.computeIfAbsent(name, KafkaLogger::new);

    private StaticLoggerBinder() {
    }

    public static StaticLoggerBinder getSingleton() {
        return SINGLETON;
    }

    @Override
    public ILoggerFactory getLoggerFactory() {
        return factory;
    }

    @Override
    public String getLoggerFactoryClassStr() {
        return factory.getClass().getName();
    }
}
