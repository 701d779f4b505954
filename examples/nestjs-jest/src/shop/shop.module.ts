import { type DynamicModule, Module } from '@nestjs/common'
import { ClientsModule } from '@nestjs/microservices'
import { type KafkaSettings, kafkaOptions } from '../kafka.ts'
import { OrdersController } from './orders.controller.ts'
import { CLIENT, OrdersService, PATIENCE_MS } from './orders.service.ts'

@Module({})
// biome-ignore lint/complexity/noStaticOnlyClass: modules of Nest are classes
export class ShopModule {
  static register(settings: KafkaSettings, patienceMs = 5000): DynamicModule {
    return {
      module: ShopModule,
      imports: [ClientsModule.register([{ name: CLIENT, ...kafkaOptions('shop', settings) }])],
      controllers: [OrdersController],
      providers: [OrdersService, { provide: PATIENCE_MS, useValue: patienceMs }],
    }
  }
}
