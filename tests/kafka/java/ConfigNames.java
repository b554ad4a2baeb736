// The names of Kafka's configs that are no passwords, as JSON by what they belong to: `redaction.py` shows no others.

import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;

import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.coordinator.group.GroupConfig;
import org.apache.kafka.server.config.AbstractKafkaConfig;
import org.apache.kafka.server.config.DynamicConfig;
import org.apache.kafka.server.metrics.ClientMetricsConfigs;
import org.apache.kafka.storage.internals.log.LogConfig;

public class ConfigNames {
    public static void main(String[] args) {
        Map<String, Map<String, ConfigDef.ConfigKey>> defined = new LinkedHashMap<>();
        Map<String, ConfigDef.ConfigKey> broker = new HashMap<>(AbstractKafkaConfig.CONFIG_DEF.configKeys());
        broker.putAll(DynamicConfig.Broker.configKeys());
        defined.put("broker", broker);
        defined.put("topic", LogConfig.configDefCopy().configKeys());
        defined.put("group", GroupConfig.CONFIG_DEF.configKeys());
        defined.put("client-metrics", ClientMetricsConfigs.configDef().configKeys());
        List<String> kinds = new ArrayList<>();
        defined.forEach((kind, keys) -> {
            TreeSet<String> names = new TreeSet<>();
            keys.forEach((name, key) -> {
                if (key.type() != ConfigDef.Type.PASSWORD) names.add("  \"" + name + "\"");
            });
            kinds.add("\"" + kind + "\": [\n" + String.join(",\n", names) + "\n]");
        });
        System.out.println("{" + String.join(",\n", kinds) + "}");
    }
}
