// A member of a share group that decides about each record of a topic, and stays until its standard input ends.
//
//     java -cp '4.4.0/*' Sharer.java BOOTSTRAP GROUP TOPIC COUNT some|all
//
// Of every four offsets it accepts the first, releases the second, rejects the third, and says nothing of the last; with
// `all` it accepts each. When it has COUNT records it prints a line of OFFSET:DELIVERIES, sorted by offset.

import java.time.Duration;
import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

public class Sharer {
    static final AcknowledgeType[] DECISIONS = {AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT};

    public static void main(String[] args) throws Exception {
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(Map.of("bootstrap.servers", args[0], "group.id", args[1],
            "client.id", "sharer", "share.acknowledgement.mode", "explicit",
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
        consumer.subscribe(List.of(args[2]));
        boolean all = args[4].equals("all");
        Map<Long, Short> told = new TreeMap<>();
        while (told.size() < Integer.parseInt(args[3])) {
            for (ConsumerRecord<byte[], byte[]> each : consumer.poll(Duration.ofMillis(500))) {
                int decision = all ? 0 : (int) (each.offset() % 4);
                told.put(each.offset(), each.deliveryCount().get());
                if (decision < DECISIONS.length) consumer.acknowledge(each, DECISIONS[decision]);
            }
            for (Optional<?> error : consumer.commitSync().values())
                if (error.isPresent()) throw new IllegalStateException(error.get().toString());
        }
        System.out.println(told.entrySet().stream().map(each -> each.getKey() + ":" + each.getValue()).collect(Collectors.joining(" ")));
        System.in.read();
        Runtime.getRuntime().halt(0);
    }
}
