// Fills a cluster with groups, transactions, settings and rights, and stays, since members leave their groups when their
// process ends. For each line of its standard input, the name of a file, it asks Kafka's AdminClient and Kafka's own tools
// about all of it as soon as nothing moves any more, writes the answers there as JSON and prints "written"; the broker may
// have been restarted meanwhile. It ends without goodbye when its standard input does. Started by `tests.kafka.clusters`:
//
//     java -cp '4.4.0/*:4.4.0-streams/*' Cluster.java BOOTSTRAP RELEASE

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.*;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.common.utils.internals.Exit;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.Consumed;

@SuppressWarnings("removal")
public class Cluster {
    static final List<String> TOPICS = List.of("shop", "stock", "__remote_log_metadata");
    static String address;
    static boolean kraft;
    static boolean modern;  // 4.x
    static Admin admin;
    static final List<Object> kept = new ArrayList<>();
    static final List<ConsumerLoop> loops = new ArrayList<>();

    public static void main(String[] args) throws Exception {
        address = args[0];
        kraft = !args[1].startsWith("2.");
        modern = args[1].startsWith("4.");
        admin = Admin.create(Map.of("bootstrap.servers", address));
        topics();
        groups();
        transactions();
        settings();
        for (ConsumerLoop loop : loops) loop.settle();
        PrintStream out = System.out;
        BufferedReader asked = new BufferedReader(new InputStreamReader(System.in));
        for (String path; (path = asked.readLine()) != null; ) {
            calm();
            new ObjectMapper().writeValue(new File(path), truth());
            out.println("written");
        }
        Runtime.getRuntime().halt(0);
    }

    // Until all members are in their groups and two looks, a second apart, see the same.
    static void calm() throws Exception {
        long deadline = System.currentTimeMillis() + 90_000;
        int expected = loops.size() + kept.stream().mapToInt(each -> each instanceof Producer ? 0 : 1).sum();
        for (Object before = null; ; Thread.sleep(1000)) {
            if (System.currentTimeMillis() > deadline) throw new IllegalStateException("no calm: " + before);
            if (!admin.listTopics().names().get().containsAll(List.of("shop", "stock"))) continue;  // right after a restart
            List<Object> groups = describedGroups();
            int members = 0;
            boolean settled = true;
            for (Object each : groups) {
                members += ((List<?>) ((Map<?, ?>) each).get("members")).size();
                settled &= Set.of("Stable", "Empty").contains(((Map<?, ?>) each).get("state"));
            }
            Object now = List.of(groups, committed(), ends());
            if (settled && members == expected && now.equals(before)) return;
            before = now;
        }
    }

    static Map<String, Object> client(Object... more) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", address, "auto.offset.reset", "earliest", "enable.auto.commit", "false",
            "key.serializer", ByteArraySerializer.class, "value.serializer", ByteArraySerializer.class,
            "key.deserializer", ByteArrayDeserializer.class, "value.deserializer", ByteArrayDeserializer.class));
        for (int i = 0; i < more.length; i += 2) settings.put((String) more[i], more[i + 1]);
        settings.keySet().removeIf(name -> name.equals("none"));
        return settings;
    }

    static void topics() throws Exception {
        admin.createTopics(List.of(
            new NewTopic("shop", 3, (short) 1).configs(Map.of("retention.ms", "604800000", "cleanup.policy", "delete")),
            new NewTopic("stock", 1, (short) 1), new NewTopic("gone", 1, (short) 1))).all().get();
        if (kraft) admin.createTopics(List.of(new NewTopic("placed", Map.of(0, List.of(1))))).all().get();
        try (KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(client())) {
            for (int i = 0; i < 30; i++) producer.send(new ProducerRecord<>("shop", i % 3, null, ("order " + i).getBytes()));
            for (int i = 0; i < 7; i++) producer.send(new ProducerRecord<>("stock", 0, null, ("item " + i).getBytes()));
        }
        admin.deleteTopics(List.of("gone")).all().get();
    }

    // Kafka's consumers want one thread each, which polls.
    static class ConsumerLoop extends Thread {
        final KafkaConsumer<byte[], byte[]> consumer;
        final CountDownLatch settled = new CountDownLatch(1);
        final long commit;

        ConsumerLoop(Map<String, Object> settings, long commit, String... topics) {
            consumer = new KafkaConsumer<>(settings);
            consumer.subscribe(List.of(topics));
            this.commit = commit;
            setDaemon(true);
            start();
            loops.add(this);
        }

        public void run() {
            long quiet = System.currentTimeMillis();
            Set<TopicPartition> before = Set.of();
            while (true) {
                consumer.poll(Duration.ofMillis(100));
                if (!consumer.assignment().equals(before)) { before = Set.copyOf(consumer.assignment()); quiet = System.currentTimeMillis(); }
                if (settled.getCount() > 0 && !before.isEmpty() && System.currentTimeMillis() - quiet > 3000) {
                    Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
                    for (TopicPartition each : before) offsets.put(each, new OffsetAndMetadata(commit + each.partition(), "by " + commit));
                    consumer.commitSync(offsets);
                    settled.countDown();
                }
            }
        }

        void settle() throws Exception {
            if (!settled.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("a consumer got nothing");
        }
    }

    static void groups() throws Exception {
        String[] classic = modern ? new String[] {"group.protocol", "classic"} : new String[] {"none", ""};
        new ConsumerLoop(client("group.id", "classic", "client.id", "one", "group.instance.id", "static-one", classic[0], classic[1]), 3, "shop", "stock");
        new ConsumerLoop(client("group.id", "classic", "client.id", "two", classic[0], classic[1]), 5, "shop");
        try (KafkaConsumer<byte[], byte[]> left = new KafkaConsumer<>(client("group.id", "left", classic[0], classic[1]))) {
            left.subscribe(List.of("stock"));
            while (left.poll(Duration.ofMillis(200)).isEmpty()) { }
            left.commitSync();
        }
        for (String name : List.of("simple", "with/slash", "..", "100%41", "gr\u00fc\u00dfe \ud83e\udd80", "x".repeat(240) + "//////"))
            admin.alterConsumerGroupOffsets(name, Map.of(new TopicPartition("shop", 1), new OffsetAndMetadata(2, Optional.of(0), "by hand"),
                new TopicPartition("stock", 0), new OffsetAndMetadata(7, "")))
                .all().get();
        admin.alterConsumerGroupOffsets("deleted", Map.of(new TopicPartition("shop", 0), new OffsetAndMetadata(1, ""))).all().get();
        admin.deleteConsumerGroups(List.of("deleted")).all().get();
        admin.deleteConsumerGroupOffsets("with/slash", Set.of(new TopicPartition("stock", 0))).all().get();
        if (modern) {
            new ConsumerLoop(client("group.id", "modern", "client.id", "three", "group.protocol", "consumer"), 4, "shop", "stock");
            new ConsumerLoop(client("group.id", "modern", "client.id", "four", "group.protocol", "consumer", "group.remote.assignor", "range"), 1, "shop");
            try (KafkaConsumer<byte[], byte[]> left = new KafkaConsumer<>(client("group.id", "modern-left", "group.protocol", "consumer"))) {
                left.subscribe(List.of("stock"));
                while (left.poll(Duration.ofMillis(200)).isEmpty()) { }
                left.commitSync();
            }
            share();
            streams();
            admin.alterConsumerGroupOffsets("emptied", Map.of(new TopicPartition("shop", 0), new OffsetAndMetadata(1, ""))).all().get();
            admin.deleteConsumerGroupOffsets("emptied", Set.of(new TopicPartition("shop", 0))).all().get();
        }
    }

    // A task reads the partition of its number of each topic; `stock` has only one.
    static void streams() throws Exception {
        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(List.of("shop", "stock"), Consumed.with(Serdes.ByteArray(), Serdes.ByteArray())).foreach((key, value) -> { });
        Properties settings = new Properties();
        settings.putAll(Map.of("application.id", "streamed", "bootstrap.servers", address, "group.protocol", "streams",
            "client.id", "five", "commit.interval.ms", 100, "state.dir", Files.createTempDirectory("kafkafs-streams-").toString()));
        KafkaStreams app = new KafkaStreams(builder.build(), settings);
        kept.add(app);
        app.start();
    }

    static void share() throws Exception {
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(ConfigResource.Type.GROUP, "shared"),
            List.of(new AlterConfigOp(new ConfigEntry("share.auto.offset.reset", "earliest"), AlterConfigOp.OpType.SET)))).all().get();
        KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(shareClient());
        consumer.subscribe(List.of("stock"));
        CountDownLatch got = new CountDownLatch(1);
        Thread loop = new Thread(() -> { while (true) if (!consumer.poll(Duration.ofMillis(200)).isEmpty()) got.countDown(); });
        loop.setDaemon(true);
        kept.add(consumer);
        loop.start();
        if (!got.await(60, TimeUnit.SECONDS)) throw new IllegalStateException("the share consumer got nothing");
    }

    static Map<String, Object> shareClient() {
        Map<String, Object> settings = client("group.id", "shared", "client.id", "sharer");
        settings.keySet().removeAll(Set.of("auto.offset.reset", "enable.auto.commit", "key.serializer", "value.serializer"));
        return settings;
    }

    static KafkaProducer<byte[], byte[]> transactional(String id) {
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(client("transactional.id", id, "transaction.timeout.ms", 900000));
        producer.initTransactions();
        kept.add(producer);
        return producer;
    }

    static void transactions() throws Exception {
        KafkaProducer<byte[], byte[]> done = transactional("done"), undone = transactional("undone"), open = transactional("open");
        transactional("idle");
        for (KafkaProducer<byte[], byte[]> producer : List.of(done, undone, open)) {
            producer.beginTransaction();
            producer.send(new ProducerRecord<>("shop", 2, null, "within".getBytes())).get();
        }
        offsets(done, "moved", 4);
        done.commitTransaction();
        offsets(undone, "moved", 5);
        if (modern) offsets(undone, "aborted", 5);  // older brokers list it until they look for what is expired
        undone.abortTransaction();
        offsets(open, "moved", 6);
        open.send(new ProducerRecord<>("stock", 0, null, "within".getBytes())).get();
        open.flush();
    }

    static void offsets(KafkaProducer<byte[], byte[]> producer, String group, long offset) {
        producer.sendOffsetsToTransaction(Map.of(new TopicPartition("stock", 0), new OffsetAndMetadata(offset, "in a transaction")),
            new ConsumerGroupMetadata(group));
    }

    static AlterConfigOp set(String name, String value) {
        return new AlterConfigOp(new ConfigEntry(name, value), AlterConfigOp.OpType.SET);
    }

    static void settings() throws Exception {
        Map<ConfigResource, Collection<AlterConfigOp>> all = new HashMap<>();
        all.put(new ConfigResource(ConfigResource.Type.TOPIC, "stock"), List.of(set("max.message.bytes", "2000000")));
        all.put(new ConfigResource(ConfigResource.Type.BROKER, ""), List.of(set("log.cleaner.threads", "2")));
        if (kraft) {
            all.put(new ConfigResource(ConfigResource.Type.BROKER, "1"), List.of(
                set("listener.name.plaintext.ssl.keystore.password", "SECRET-keystore"),
                set("listener.name.plaintext.scram-sha-256.sasl.jaas.config", "SECRET-jaas"),
                set("listener.name.plaintext.ssl.key.password", "SECRET-key"), set("some.plugin.token", "SECRET-plugin"), set("log.cleaner.io.max.bytes.per.second", "100000000")));
        }
        if (modern) all.put(new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "watch"), List.of(set("interval.ms", "60000")));
        if (modern) all.put(new ConfigResource(ConfigResource.Type.GROUP, "modern"), List.of(set("consumer.session.timeout.ms", "50000")));
        admin.incrementalAlterConfigs(all).all().get();
        if (!kraft) return;
        admin.createAcls(List.of(
            new AclBinding(new ResourcePattern(ResourceType.TOPIC, "shop", PatternType.LITERAL), new AccessControlEntry("User:alice", "*", AclOperation.READ, AclPermissionType.ALLOW)),
            new AclBinding(new ResourcePattern(ResourceType.GROUP, "cl", PatternType.PREFIXED), new AccessControlEntry("User:bob", "10.0.0.1", AclOperation.ALL, AclPermissionType.DENY)),
            new AclBinding(new ResourcePattern(ResourceType.CLUSTER, "kafka-cluster", PatternType.LITERAL), new AccessControlEntry("User:eve", "*", AclOperation.DESCRIBE_CONFIGS, AclPermissionType.ALLOW)),
            new AclBinding(new ResourcePattern(ResourceType.TRANSACTIONAL_ID, "*", PatternType.LITERAL), new AccessControlEntry("User:eve", "*", AclOperation.WRITE, AclPermissionType.ALLOW)))).all().get();
        admin.deleteAcls(List.of(new AclBindingFilter(new ResourcePatternFilter(ResourceType.TRANSACTIONAL_ID, "*", PatternType.LITERAL), AccessControlEntryFilter.ANY))).all().get();
        Map<String, String> everybody = new HashMap<>();
        everybody.put("user", null);
        admin.alterClientQuotas(List.of(
            new ClientQuotaAlteration(new ClientQuotaEntity(Map.of("user", "alice", "client-id", "one")), List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1048576.0), new ClientQuotaAlteration.Op("request_percentage", 12.5))),
            new ClientQuotaAlteration(new ClientQuotaEntity(everybody), List.of(new ClientQuotaAlteration.Op("consumer_byte_rate", 1.0e10))))).all().get();
        admin.alterUserScramCredentials(List.of(
            new UserScramCredentialUpsertion("alice", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 8192), "SECRET-alice"),
            new UserScramCredentialUpsertion("bob", new ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), "SECRET-bob"))).all().get();
    }

    static Map<String, Object> truth() throws Exception {
        Map<String, Object> truth = new TreeMap<>();
        truth.put("clusterId", admin.describeCluster().clusterId().get());
        truth.put("groups", describedGroups());
        truth.put("offsets", committed());
        truth.put("ends", ends());
        truth.put("topics", describedTopics());
        if (kraft) {
            truth.put("transactions", describedTransactions());
            truth.put("producers", producers());
            truth.put("configs", describedConfigs());
            truth.put("acls", acls());
            truth.put("quotas", quotas());
            truth.put("users", users());
            truth.put("features", features());
            truth.put("nodes", nodes());
        }
        truth.put("tools", tools());
        return truth;
    }

    // What Kafka's own commands print.
    static Map<String, String> tools() throws Exception {
        Map<String, String> found = new TreeMap<>();
        String groups = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand", transactions = "org.apache.kafka.tools.TransactionsCommand";
        found.put("offsets", tool(groups, "--describe", "--all-groups"));
        found.put("members", tool(groups, "--describe", "--all-groups", "--members", "--verbose"));
        found.put("states", tool(groups, "--describe", "--all-groups", "--state"));
        found.put("topics", tool("org.apache.kafka.tools.TopicCommand", "--describe"));
        if (!kraft) return found;
        found.put("transactions", tool(transactions, "list"));
        found.put("producers", tool(transactions, "describe-producers", "--topic", "shop", "--partition", "2"));
        found.put("hanging", tool(transactions, "find-hanging", "--broker-id", "1"));
        found.put("topicConfigs", tool("org.apache.kafka.tools.ConfigCommand", "--describe", "--topic", "shop"));
        found.put("brokerConfigs", tool("org.apache.kafka.tools.ConfigCommand", "--describe", "--broker", "1"));
        found.put("acls", tool("org.apache.kafka.tools.AclCommand", "--list"));
        return found;
    }

    static String tool(String name, String... words) throws Exception {
        List<String> all = new ArrayList<>(List.of("--bootstrap-server", address));
        all.addAll(List.of(words));
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        PrintStream before = System.out;
        Exit.Procedure end = (code, message) -> { if (code != 0) throw new IllegalStateException(name + ": " + message); };
        Exit.setExitProcedure(end);
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) all.toArray(new String[0]));
        } finally {
            System.setOut(before);
        }
        return printed.toString(StandardCharsets.UTF_8);
    }

    static List<Object> describedGroups() throws Exception {
        List<Object> found = new ArrayList<>();
        List<String> names = new ArrayList<>(), shared = new ArrayList<>(), streamed = new ArrayList<>();
        if (modern) {
            for (GroupListing each : admin.listGroups().all().get()) {
                String type = each.type().map(Object::toString).orElse("?");
                (type.equals("Share") ? shared : type.equals("Streams") ? streamed : names).add(each.groupId());
            }
        } else {
            for (ConsumerGroupListing each : admin.listConsumerGroups().all().get()) names.add(each.groupId());
        }
        for (ConsumerGroupDescription each : admin.describeConsumerGroups(names).all().get().values()) {
            List<Object> members = new ArrayList<>();
            for (MemberDescription member : each.members())
                members.add(member(member.consumerId(), member.groupInstanceId().orElse(null), member.clientId(), member.host(), member.assignment().topicPartitions(), member.memberEpoch().orElse(null)));
            found.add(group(each.groupId(), each.type().toString(), each.groupState().toString(), each.partitionAssignor(), members));
        }
        for (ShareGroupDescription each : admin.describeShareGroups(shared).all().get().values()) {
            List<Object> members = new ArrayList<>();
            for (ShareMemberDescription member : each.members())
                members.add(member(member.consumerId(), null, member.clientId(), member.host(), member.assignment().topicPartitions(), member.memberEpoch()));
            found.add(group(each.groupId(), "Share", each.groupState().toString(), null, members));
        }
        for (StreamsGroupDescription each : admin.describeStreamsGroups(streamed).all().get().values()) {
            List<Object> members = new ArrayList<>();
            for (StreamsGroupMemberDescription member : each.members())
                members.add(member(member.memberId(), member.instanceId().orElse(null), member.clientId(), member.clientHost(), read(each, member), member.memberEpoch()));
            found.add(group(each.groupId(), "Streams", each.groupState().toString(), null, members));
        }
        found.sort(Comparator.comparing(each -> (String) ((Map<?, ?>) each).get("group")));
        return found;
    }

    // The partitions that the tasks of a member read.
    static Set<TopicPartition> read(StreamsGroupDescription group, StreamsGroupMemberDescription member) throws Exception {
        Set<TopicPartition> found = new HashSet<>();
        for (StreamsGroupMemberAssignment.TaskIds tasks : member.assignment().activeTasks())
            for (StreamsGroupSubtopologyDescription sub : group.subtopologies())
                if (sub.subtopologyId().equals(tasks.subtopologyId()))
                    for (TopicDescription topic : admin.describeTopics(sub.sourceTopics()).allTopicNames().get().values())
                        for (int number : tasks.partitions())
                            if (number < topic.partitions().size()) found.add(new TopicPartition(topic.name(), number));
        return found;
    }

    static Map<String, Object> group(String name, String type, String state, String protocol, List<Object> members) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("group", name);
        row.put("type", type.toLowerCase(Locale.ROOT));
        row.put("state", state);
        row.put("protocol", protocol);
        row.put("members", members);
        return row;
    }

    static Map<String, Object> member(String id, String instance, String client, String host, Set<TopicPartition> assigned, Integer epoch) {
        Map<String, Object> row = new LinkedHashMap<>();
        row.put("memberId", id);
        row.put("groupInstanceId", instance);
        row.put("clientId", client);
        row.put("clientHost", host);
        row.put("assignment", names(assigned));
        row.put("memberEpoch", epoch);
        return row;
    }

    static List<String> names(Collection<TopicPartition> partitions) {
        return partitions.stream().map(TopicPartition::toString).sorted().toList();
    }

    static List<Object> committed() throws Exception {
        List<Object> found = new ArrayList<>();
        for (Object each : describedGroups()) {
            Map<?, ?> group = (Map<?, ?>) each;
            if (group.get("type").equals("share")) continue;
            String name = (String) group.get("group");
            admin.listConsumerGroupOffsets(name).partitionsToOffsetAndMetadata().get().forEach((partition, offset) -> {
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("group", name);
                row.put("partition", partition.toString());
                row.put("offset", offset.offset());
                row.put("metadata", offset.metadata());
                row.put("leaderEpoch", offset.leaderEpoch().orElse(null));
                found.add(row);
            });
        }
        return found;
    }

    static Map<String, Object> ends() throws Exception {
        Map<TopicPartition, OffsetSpec> asked = new HashMap<>();
        for (TopicDescription each : admin.describeTopics(List.of("shop", "stock")).allTopicNames().get().values())
            for (TopicPartitionInfo partition : each.partitions()) asked.put(new TopicPartition(each.name(), partition.partition()), OffsetSpec.latest());
        Map<String, Object> found = new TreeMap<>();
        admin.listOffsets(asked).all().get().forEach((partition, end) -> found.put(partition.toString(), end.offset()));
        return found;
    }

    static List<Object> describedTopics() throws Exception {
        List<Object> found = new ArrayList<>();
        Set<String> names = admin.listTopics(new ListTopicsOptions().listInternal(true)).names().get();
        for (TopicDescription each : admin.describeTopics(names).allTopicNames().get().values()) {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("topic", each.name());
            row.put("topicId", each.topicId().toString());
            row.put("internal", each.isInternal());
            List<Object> partitions = new ArrayList<>();
            for (TopicPartitionInfo partition : each.partitions())
                partitions.add(Map.of("partition", partition.partition(), "leader", partition.leader().id(),
                    "replicas", partition.replicas().stream().map(Node::id).toList(), "isr", partition.isr().stream().map(Node::id).toList()));
            row.put("partitions", partitions);
            found.add(row);
        }
        return found;
    }

    static List<Object> describedTransactions() throws Exception {
        List<Object> found = new ArrayList<>();
        Collection<TransactionListing> all = admin.listTransactions().all().get();
        admin.describeTransactions(all.stream().map(TransactionListing::transactionalId).toList()).all().get().forEach((id, each) -> {
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("transactionalId", id);
            row.put("state", each.state().toString());
            row.put("producerId", each.producerId());
            row.put("producerEpoch", each.producerEpoch());
            row.put("timeoutMs", each.transactionTimeoutMs());
            row.put("startTimestamp", each.transactionStartTimeMs().isPresent() ? each.transactionStartTimeMs().getAsLong() : null);
            row.put("partitions", names(each.topicPartitions()));
            found.add(row);
        });
        return found;
    }

    static List<Object> producers() throws Exception {
        List<Object> found = new ArrayList<>();
        List<TopicPartition> asked = List.of(new TopicPartition("shop", 2), new TopicPartition("stock", 0));
        admin.describeProducers(asked).all().get().forEach((partition, state) -> {
            for (ProducerState each : state.activeProducers()) {
                if (each.currentTransactionStartOffset().isEmpty()) continue;
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("partition", partition.toString());
                row.put("producerId", each.producerId());
                row.put("producerEpoch", each.producerEpoch());
                row.put("coordinatorEpoch", each.coordinatorEpoch().isPresent() ? each.coordinatorEpoch().getAsInt() : null);
                row.put("firstOffset", each.currentTransactionStartOffset().getAsLong());
                row.put("lastTimestamp", each.lastTimestamp());
                found.add(row);
            }
        });
        return found;
    }

    static List<Object> describedConfigs() throws Exception {
        List<Object> found = new ArrayList<>();
        List<ConfigResource> asked = new ArrayList<>(List.of(new ConfigResource(ConfigResource.Type.TOPIC, "shop"),
            new ConfigResource(ConfigResource.Type.TOPIC, "stock"), new ConfigResource(ConfigResource.Type.BROKER, "1"), new ConfigResource(ConfigResource.Type.BROKER, "")));
        if (modern) asked.addAll(List.of(new ConfigResource(ConfigResource.Type.CLIENT_METRICS, "watch"), new ConfigResource(ConfigResource.Type.GROUP, "modern")));
        admin.describeConfigs(asked).all().get().forEach((resource, config) -> {
            for (ConfigEntry entry : config.entries()) {
                if (!entry.source().toString().startsWith("DYNAMIC")) continue;
                if (resource.type() == ConfigResource.Type.BROKER && resource.name().isEmpty() != entry.source().toString().contains("DEFAULT")) continue;
                Map<String, Object> row = new LinkedHashMap<>();
                row.put("type", resource.type().toString());
                row.put("name", resource.name());
                row.put("key", entry.name());
                row.put("value", entry.value());
                row.put("sensitive", entry.isSensitive());
                found.add(row);
            }
        });
        return found;
    }

    static List<Object> acls() throws Exception {
        List<Object> found = new ArrayList<>();
        for (AclBinding each : admin.describeAcls(AclBindingFilter.ANY).values().get())
            found.add(List.of(each.pattern().resourceType().toString(), each.pattern().name(), each.pattern().patternType().toString(),
                each.entry().principal(), each.entry().host(), each.entry().operation().toString(), each.entry().permissionType().toString()));
        return found;
    }

    static List<Object> quotas() throws Exception {
        List<Object> found = new ArrayList<>();
        admin.describeClientQuotas(ClientQuotaFilter.all()).entities().get().forEach((entity, values) ->
            values.forEach((key, value) -> found.add(Arrays.asList(entity.entries(), key, value))));
        return found;
    }

    static List<Object> users() throws Exception {
        List<Object> found = new ArrayList<>();
        admin.describeUserScramCredentials().all().get().forEach((user, description) -> {
            for (ScramCredentialInfo each : description.credentialInfos()) found.add(List.of(user, each.mechanism().mechanismName(), each.iterations()));
        });
        return found;
    }

    static Map<String, Object> features() throws Exception {
        Map<String, Object> found = new TreeMap<>();
        admin.describeFeatures().featureMetadata().get().finalizedFeatures().forEach((name, range) -> found.put(name, range.maxVersionLevel()));
        return found;
    }

    static List<Object> nodes() throws Exception {
        List<Object> found = new ArrayList<>();
        for (Node each : admin.describeCluster().nodes().get()) found.add(Arrays.asList(each.id(), each.host(), each.port(), each.rack()));
        return found;
    }
}
