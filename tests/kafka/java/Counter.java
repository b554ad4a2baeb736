// A Kafka Streams application that counts the values of the topic `in` by their first letters, into `out`, exactly once.
// It has a topic of its own in between, and its counts in memory; it stays until its standard input ends.
//
//     java -cp '4.4.0/*:4.4.0-streams/*' Counter.java BOOTSTRAP PROTOCOL DIRECTORY

import java.util.*;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

public class Counter {
    public static void main(String[] args) throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream("in", Consumed.with(Serdes.String(), Serdes.String()))
            .selectKey((key, value) -> value.substring(0, 1))
            .groupByKey(Grouped.with("by-letter", Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts")).withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream().mapValues(Object::toString).to("out", Produced.with(Serdes.String(), Serdes.String()));
        Properties settings = new Properties();
        settings.putAll(Map.of("bootstrap.servers", args[0], "application.id", "counter", "group.protocol", args[1], "client.id", "counter",
            "processing.guarantee", "exactly_once_v2", "commit.interval.ms", 1000, "statestore.cache.max.bytes", 0, "auto.offset.reset", "earliest",
            "state.dir", args[2]));
        new KafkaStreams(builder.build(), settings).start();
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
